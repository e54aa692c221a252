"""Flow-matching training of the transformer and the text encoders."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from . import checkpoint
from .attention import fast_attention
from .batches import Batch, BatchSource
from .config import FORMATS
from .model import TinyFlux, token_positions
from .muon import Muon
from .parallel import Team
from .precision import has_fast_bfloat16, mixed_precision
from .reading import CaptionSource, reading_loss
from .schedule import CheckpointClock, Pace, cosine_rate, ema_decay
from .tokenizers import load_tokenizers

BATCH = 32  # samples per process and step
PEAK_RATE = 6e-4
MUON_RATE_FACTOR = 1.5  # Muon's rate, matched to AdamW's update size, may be a little higher
WARMUP_STEPS = 150
STEPS_APART = 4  # between two averagings over the processes
LONGEST_DECAY = 0.997  # of the weight average, per step
HIGH_NOISE_SHIFT = 2.5  # times are drawn towards noise, where objects and their places are decided
UNIFORM_SHARE = 0.3  # of the times; the others are logit-normal
OBJECT_WEIGHT = 2.0  # extra loss weight of a token that an object covers
READING_BATCH, READING_WEIGHT = 24, 0.1  # captions of the reading exercise, which goes on beside the pictures
CHECKPOINT_MINUTES = 3.0
REPORTED_STEPS = 100  # the reported loss is the mean over these
NOT_HIDDEN = (
    "embed",
    "shared",
    "norm",
    "relative",
    "reader",
)  # parts of the names of parameters that Muon is not made for


@dataclass(frozen=True)
class FlowTask:
    """Where the data, tokenizers and checkpoint are, and what to start from if there is no checkpoint."""

    data: Path
    tokenizers: Path
    file: Path
    device: str
    seed: int
    start: Path | None = None


def train_flow(team: Team, task: FlowTask, pace: Pace) -> None:
    """Train to `pace.total` samples, or until the time is up; called once in every process."""
    FlowTrainer(team, task, pace).run()


class FlowTrainer:
    """The model, its average, its optimizers and its data, in one of the processes."""

    def __init__(self, team: Team, task: FlowTask, pace: Pace) -> None:
        self.team, self.task, self.pace = team, task, pace
        torch.manual_seed(task.seed)
        clip_tokenizer, t5_tokenizer = load_tokenizers(task.tokenizers)
        self.model = TinyFlux(clip_tokenizer, t5_tokenizer).to(task.device)
        self.average = copy.deepcopy(self.model).requires_grad_(False)
        self.parameters = list(self.model.parameters())
        self.optimizers = _optimizers(self.model, task.device)
        self.source = BatchSource(task.data, task.tokenizers, task.seed, team.rank)
        self.captions = CaptionSource(t5_tokenizer, task.seed, team.rank)
        self.positions = {name: token_positions(name).to(task.device) for name in FORMATS}
        self.clock = CheckpointClock(CHECKPOINT_MINUTES)
        self.losses: list[float] = []
        self.samples = 0  # of all processes, in all sessions
        self.steps = 0  # of this session
        self._restore()

    def run(self) -> None:
        with fast_attention(self.task.device):
            while not (self.steps % STEPS_APART == 0 and self._meet()):
                self._step()

    def _meet(self) -> bool:
        """Average with the other processes, write a checkpoint if one is due; true if it is time to stop."""
        self.team.average(self.parameters)
        if self.team.leads and self.steps:
            self._follow()
        stop = self.team.agree(self.samples >= self.pace.total or self.pace.time_is_up())
        if self.team.leads and (stop or self.clock.is_due()):
            loss = np.mean(self.losses[-REPORTED_STEPS:] or [np.nan])
            self.pace.report("flow", self.samples, f"loss {loss:.4f}")
            checkpoint.save(self._state(), self.task.file)
        return stop

    def _step(self) -> None:
        rate = cosine_rate(PEAK_RATE, self.pace.progress(self.samples), (self.steps + 1) / WARMUP_STEPS)
        self.optimizers["adamw"].param_groups[0]["lr"] = rate
        self.optimizers["muon"].param_groups[0]["lr"] = rate * MUON_RATE_FACTOR
        # Data and noise depend on seed, step and process alone: a resumed training repeats nothing.
        step = self.samples // (BATCH * self.team.size)
        batch = self.source.draw(step, BATCH).to(self.task.device)
        noise = torch.Generator().manual_seed((self.task.seed * 1_000_003 + step) * 64 + self.team.rank)
        with mixed_precision(self.task.device):
            loss = flow_loss(self.model, batch, self.positions[batch.format], noise)
            ids, answers = (tensor.to(self.task.device) for tensor in self.captions.draw(step, READING_BATCH))
            read = reading_loss(self.model.read(ids), answers)
        self.model.zero_grad()
        (loss + READING_WEIGHT * read).backward()
        nn.utils.clip_grad_norm_(self.parameters, 1.0)
        for optimizer in self.optimizers.values():
            optimizer.step()
        self.losses.append(loss.item())
        self.samples += BATCH * self.team.size
        self.steps += 1

    def _follow(self) -> None:
        """Move the weight average towards the weights, once for the steps taken apart."""
        decay = ema_decay(self.steps + 1, LONGEST_DECAY) ** STEPS_APART
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.parameters()), self.parameters, 1 - decay)

    def _state(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "average": self.average.state_dict(),
            "optimizers": {name: optimizer.state_dict() for name, optimizer in self.optimizers.items()},
            "samples": self.samples,
        }

    def _restore(self) -> None:
        """Load the checkpoint or, if there is none, the weights to start from."""
        task = self.task
        if task.file.exists():
            state = checkpoint.load(task.file, task.device)
            self.model.load_state_dict(state["model"])
            self.average.load_state_dict(state["average"])
            for name, optimizer in self.optimizers.items():
                optimizer.load_state_dict(state["optimizers"][name])
            self.samples = state["samples"]
        elif task.start is not None:
            weights = checkpoint.load(task.start, task.device)["average"]
            self.model.load_state_dict(weights)
            self.average.load_state_dict(weights)


def flow_loss(model: TinyFlux, batch: Batch, positions: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Squared error of the velocity from picture to noise, objects counted more."""
    clean = batch.latents
    time = draw_times(len(clean), generator).to(clean.device)
    noise = torch.randn(clean.shape, generator=generator).to(clean.device)
    mixed = torch.lerp(clean, noise, time[:, None, None])
    velocity = model(mixed, time, batch.clip_ids, batch.t5_ids, positions)
    error = (velocity.float() - (noise - clean)).square().mean(-1)
    weight = 1 + OBJECT_WEIGHT * batch.coverage
    return (error * weight).sum() / weight.sum()


def draw_times(count: int, generator: torch.Generator) -> torch.Tensor:
    logit_normal = torch.sigmoid(torch.randn(count, generator=generator))
    uniform = torch.rand(count, generator=generator)
    times = torch.where(torch.rand(count, generator=generator) < UNIFORM_SHARE, uniform, logit_normal)
    return HIGH_NOISE_SHIFT * times / (1 + (HIGH_NOISE_SHIFT - 1) * times)


def _optimizers(model: nn.Module, device: str) -> dict[str, torch.optim.Optimizer]:
    """Muon for the matrices inside, AdamW for embeddings, norms, biases, the first and the last layer."""
    matrices, others = [], []
    for name, parameter in model.named_parameters():
        outer = name == "transformer.proj_out.weight" or any(word in name for word in NOT_HIDDEN)
        (others if outer or parameter.ndim != 2 else matrices).append(parameter)
    dtype = torch.bfloat16 if has_fast_bfloat16(device) else torch.float32
    return {
        "adamw": torch.optim.AdamW(others, lr=PEAK_RATE, betas=(0.9, 0.98), weight_decay=0),
        "muon": Muon(matrices, lr=PEAK_RATE, dtype=dtype),
    }
