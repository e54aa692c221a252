"""The stages of a training, in order. Each one does what is left of its work and returns."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import torch
from diffusers import DiffusionPipeline

from . import checkpoint
from .card import write_card
from .config import Run
from .data import Encoders, make_shard, planned_shards
from .evaluate import Setting, evaluate, vae_quality, vae_scenes
from .export import BASIS_IN_EXPORT, export_pipeline
from .flow import FlowTask, train_flow
from .judge import load_judge, train_judge
from .latents import LatentBasis, find_basis
from .model import TinyFlux
from .parallel import Team, run_team
from .reading import CaptionSource, train_reading
from .schedule import Pace
from .sheet import contact_sheet
from .tokenizers import build_tokenizers, load_tokenizers
from .vae import build_vae, train_decoder
from .warmstart import warm_flow, warm_vae

NAMES = ("tokenizers", "latents", "data", "vae", "judge", "reading", "flow", "export", "evaluate", "sheet")
SHARDS = {"square": 24, "landscape": 11, "portrait": 11, "large": 6}  # of 2,000 scenes each
DECODER_STEPS = 8000
DECODER_TIME_SHARE = 0.15  # of the hours asked for, at most: the transformer needs the rest
JUDGE_SAMPLES = 75_000
READING_CAPTIONS = 60_000
FLOW_SAMPLES = 1_200_000
DEFAULT_SETTING = Setting(steps=8, guidance=3.0)
DRAFT_SETTING = Setting(steps=4, guidance=1.0)  # as the presets of the catalogue


@dataclass(frozen=True)
class Plan:
    """What a call of the program is to do."""

    run: Run
    export: Path
    seconds: float
    samples: int
    start_from: Path | None = None


def tokenizers(plan: Plan) -> None:
    target = plan.run.tokenizers
    if not target.exists():
        temporary = target.with_name(".tokenizers.new")
        build_tokenizers(temporary, plan.run.seed)
        temporary.replace(target)


def latents(plan: Plan) -> None:
    """A new latent space, or the one that the weights to start from were trained in."""
    target = plan.run.basis_file
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if plan.start_from:
        shutil.copy(plan.start_from / BASIS_IN_EXPORT, target)
    else:
        find_basis(plan.run.seed).save(target)


def data(plan: Plan) -> None:
    run_team(_make_data, plan.run.processes, plan.run)


def _make_data(team: Team, run: Run) -> None:
    encoders = Encoders.of(run)
    for number, name in enumerate(planned_shards(SHARDS)):
        if number % team.size == team.rank:
            make_shard(name, run.data, encoders, run.seed)
            print(f"[data] {name.format} {name.index}", flush=True)


def vae(plan: Plan) -> None:
    run = plan.run
    start = warm_vae(plan.start_from, build_vae()) if plan.start_from else None
    basis, pace = LatentBasis.load(run.basis_file), Pace(DECODER_STEPS, plan.seconds * DECODER_TIME_SHARE)
    train_decoder(run.decoder_file, run.data, basis, pace, run.device, run.seed, start)


def judge(plan: Plan) -> None:
    train_judge(plan.run.judge_file, Pace(JUDGE_SAMPLES), plan.run.device, plan.run.seed)


def reading(plan: Plan) -> None:
    """The weights that the flow training starts from: new or exported ones, with a T5 that can read."""
    run, target = plan.run, plan.run.flow_start_file
    if target.exists():
        return
    torch.manual_seed(run.seed)
    clip_tokenizer, t5_tokenizer = load_tokenizers(run.tokenizers)
    model = TinyFlux(clip_tokenizer, t5_tokenizer)
    if plan.start_from is not None:
        model.load_state_dict(warm_flow(plan.start_from, run.tokenizers))
    source = CaptionSource(t5_tokenizer, run.seed, rank=0)
    train_reading(model.to(run.device), source, Pace(READING_CAPTIONS), keep=plan.start_from is not None)
    checkpoint.save({"average": model.state_dict()}, target)


def flow(plan: Plan) -> None:
    run = plan.run
    start = run.flow_start_file if run.flow_start_file.exists() else None  # nobody asked for the reading
    task = FlowTask(run.data, run.tokenizers, run.flow_file, run.device, run.seed, start)
    run_team(train_flow, run.processes, task, Pace(plan.samples, plan.seconds))


def export(plan: Plan) -> None:
    size = export_pipeline(plan.run, plan.export)
    print(f"[export] {plan.export}: {size / 1e6:.1f} MB")


def evaluate_export(plan: Plan) -> None:
    """The numbers of the model card, into `report.json` of the run."""
    referee = load_judge(plan.run.judge_file)
    report = {
        "judge on held-out real scenes": checkpoint.load(plan.run.judge_file)["accuracy"],
        "vae": vae_quality(plan.export, LatentBasis.load(plan.run.basis_file), vae_scenes()),
        "settings": [evaluate(plan.export, referee, setting) for setting in (DEFAULT_SETTING, DRAFT_SETTING)],
    }
    text = json.dumps(report, indent=2)
    (plan.run.folder / "report.json").write_text(text + "\n")
    print(text)
    write_card(plan.run.folder / "report.json", _history(plan), plan.export)


def _history(plan: Plan) -> str:
    """How the weights came about: the run's own history.md if somebody wrote one."""
    told = plan.run.folder / "history.md"
    if told.exists():
        return told.read_text().strip()
    samples = checkpoint.load(plan.run.flow_file)["samples"]
    start = f"started from {plan.start_from.name}" if plan.start_from else "from nothing"
    return f"By `python -m training`, {start}: {samples:,} samples, seed {plan.run.seed}."


def sheet(plan: Plan) -> None:
    pipe = DiffusionPipeline.from_pretrained(plan.export)
    pipe.set_progress_bar_config(disable=True)
    contact_sheet(pipe, DEFAULT_SETTING).save(plan.run.folder / "samples.png")


WORK = {
    "tokenizers": tokenizers,
    "latents": latents,
    "data": data,
    "vae": vae,
    "judge": judge,
    "reading": reading,
    "flow": flow,
    "export": export,
    "evaluate": evaluate_export,
    "sheet": sheet,
}


def perform(name: str, plan: Plan) -> None:
    if plan.run.device == "cpu":
        torch.set_num_threads(max(1, plan.run.processes))
    WORK[name](plan)
