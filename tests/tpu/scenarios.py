"""What the tests of tests/tpu do in a process of its own: `python scenarios.py FOLDER '[["NAME", "ARGUMENT"], ...]'`.

A process has one PrivateUse1 device and one default torch.compile, so none of this runs in pytest's own. Importing
all of it takes as long as most scenarios, so a process runs several, one after another. Each returns a dictionary, or
its traceback; they are printed as one line of JSON, and the tests assert on them.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent.parent)]

from accel_ui.environment import prepare_environment  # noqa: E402

FOLDER = Path(sys.argv[1])
prepare_environment(FOLDER / "cache")
import tpu_on_cpu  # noqa: E402

tpu_on_cpu.install()

import numpy as np  # noqa: E402
import torch  # noqa: E402

from accel_ui.call import call_arguments  # noqa: E402
from accel_ui.compilation.graphs import GraphRefused  # noqa: E402
from accel_ui.loading import load_pipeline, resolve_model  # noqa: E402
from accel_ui.manager import PipelineManager  # noqa: E402
from accel_ui.report import diagnose  # noqa: E402
from accel_ui.requests import Done, Step  # noqa: E402
from accel_ui.settings import Settings  # noqa: E402

PRESETS = """
[presets.square]
height = 32
width = 32
steps = 2
max_sequence_length = 16
guidance_scale = 1.0
[presets.wide]
height = 32
width = 48
steps = 4
max_sequence_length = 16
guidance_scale = {guidance}
"""
PROMPTS = ("a", "a red house", "ein Haus am See, im Herbst, von weitem gesehen", "🏠 猫", "word " * 300)


def start(model: str, dtype: str = "float32", guidance: float = 1.0, **settings) -> PipelineManager:
    """A loaded manager for a tiny pipeline (written if need be) or the embedded model."""
    if model != "tiny":
        import tiny_pipelines

        path = FOLDER / model
        if not path.exists():
            tiny_pipelines.write(model, FOLDER)
            (FOLDER / "presets.toml").write_text(PRESETS.format(guidance=guidance))
        settings = {"presets": FOLDER / "presets.toml", **settings}
        model = str(path)
    values = {"cache_dir": FOLDER / "cache", "output_dir": FOLDER / "out", "warmup": "none", **settings}
    manager = PipelineManager(Settings(model=model, device="tpu", dtype=dtype, **values))
    manager.start()
    manager.wait_until_loaded()
    return manager


def picture(manager: PipelineManager, prompt: str, preset: str, seed: int = 1):
    """The result of one request, which must be good."""
    *_, last = manager.generate(manager.request(prompt, preset, seed))
    assert isinstance(last, Done), last
    return last.result


def distance(manager: PipelineManager, result) -> int:
    """Greatest difference, of 255, to what the untouched pipeline draws on the CPU."""
    pipeline = load_pipeline(resolve_model(manager.settings.model), manager.settings.dtype)
    preset = manager.presets[result.preset.id]
    with torch.no_grad():
        expected = pipeline(**call_arguments(pipeline, preset, result.request, lambda index, latents: None)).images[0]
    drawn = np.asarray(result.images[0], dtype=np.int16)
    return int(np.abs(drawn - (expected * 255).round().clip(0, 255).astype(np.int16)).max())


def numbers(result) -> dict:
    """What the API answers about a run, as far as the tests read it."""
    info = result.info()
    kept = {name: info[name] for name in ("mode", "graphs_compiled", "programs_compiled")}
    return {**kept, "seconds": info["timings"]["total"], "compile": info["timings"]["compile"]}


def family(model: str, guidance: str = "1", requests: str = "40", only: str = "") -> dict:
    """Both presets, or one, for the first time, then many mixed requests."""
    manager = start(model, guidance=float(guidance))
    presets = [only] if only else list(manager.presets)
    first = {preset: picture(manager, "a red house", preset) for preset in presets}
    distances = {preset: distance(manager, result) for preset, result in first.items()}
    later = [
        numbers(picture(manager, PROMPTS[i % len(PROMPTS)] + str(i), presets[i % len(presets)], i))
        for i in range(int(requests))
    ]
    return {
        "first": {preset: numbers(result) for preset, result in first.items()},
        "distance": distances,
        "later_graphs": sum(run["graphs_compiled"] for run in later),
        "later_programs": sum(run["programs_compiled"] for run in later),
        "seconds": min(run["seconds"] for run in later),
        "states": {preset: manager.preset_state(preset)[0] for preset in presets},
        "ledger": manager.ledger.rows(),
    }


def one(model: str, mode: str = "compile", dtype: str = "float32", preset: str = "square", **settings) -> dict:
    """A request, and the same again."""
    manager = start(model, dtype, mode=mode, **settings)
    status = manager.status()
    if status["phase"] != "ready":
        return {"reason": status["reason"]}
    first, second = picture(manager, "a red house", preset), picture(manager, "a red house", preset)
    return {
        "mode": status["mode"],
        "eager_mode": torch.tpu.eager_mode.name,
        "decisions": {decision["subject"]: decision["reason"] for decision in status["decisions"]},
        "placement": {row["component"]: row["device"] for row in status["placement"]},
        "first": numbers(first),
        "second": numbers(second),
        "distance": distance(manager, first),
        "same": list(first.images[0].getdata()) == list(second.images[0].getdata()),
        "programs": manager.status()["programs"],
        "report": diagnose(manager.settings),
        "ledger": manager.ledger.rows(),
    }


def split(model: str) -> dict:
    """Text encoders on the CPU."""
    return one(model, text_encoder_device="cpu")


def refused_shape(model: str) -> dict:
    """A run whose size is not the preset's, behind the manager's back."""
    manager = start(model)
    picture(manager, "a", "square")
    engine, before = manager._engine, manager.ledger.graphs

    class Silent:
        def calling(self, component: str) -> None: ...

    try:
        with engine.graphs.running("square", Silent(), may_compile=True), torch.no_grad():
            engine.pipeline(prompt="a", height=48, width=32, num_inference_steps=1, max_sequence_length=16)
        message = ""
    except GraphRefused as error:
        message = str(error)
    after = picture(manager, "a", "square")
    return {"message": message, "graphs": manager.ledger.graphs - before, "distance": distance(manager, after)}


def refused_operation(model: str) -> dict:
    """A transformer that reads a number back from the device, which no whole graph can hold."""
    from diffusers import FluxTransformer2DModel

    forward = FluxTransformer2DModel.forward

    def reads_back(self, hidden_states, **kwargs):
        return forward(self, hidden_states * (1.0 if hidden_states.sum().item() == 12345 else 1), **kwargs)

    FluxTransformer2DModel.forward = reads_back
    manager = start(model)
    first = picture(manager, "a red house", "square")
    state, why = manager.preset_state("square")
    again = picture(manager, "a red house", "square")
    return {
        "state": state,
        "why": why,
        "mode": first.mode,
        "distance": distance(manager, first),
        "again": numbers(again),
        "ledger": {row["target"]: row["how"] for row in manager.ledger.rows()},
    }


def many_users(model: str) -> dict:
    """A run that is stopped in its middle, the one after it, and two threads at once."""
    manager = start(model)
    alone = {preset: picture(manager, "a red house", preset, 7) for preset in manager.presets}
    events = manager.generate(manager.request("a", "wide"))
    steps = []
    for event in events:
        if isinstance(event, Step):
            steps.append(event.index)
            events.close()
            break
    after = picture(manager, "a red house", "wide", 7)
    together = {}

    def ask(preset: str) -> None:
        together[preset] = picture(manager, "a red house", preset, 7)

    threads = [threading.Thread(target=ask, args=(preset,)) for preset in manager.presets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    def same(one, other) -> bool:
        return list(one.images[0].getdata()) == list(other.images[0].getdata())

    return {
        "steps": steps,
        "after": same(after, alone["wide"]),
        "together": {preset: same(result, alone[preset]) for preset, result in together.items()},
        "graphs": manager.ledger.graphs,
    }


def held(model: str) -> dict:
    """A TPU that another process holds: libtpu's own words, when weights are moved there."""

    def refuse(self, *args, **kwargs):
        raise RuntimeError(
            "TPU initialization failed: The TPU is already in use by process with pid 4321. "
            "Not attempting to load libtpu.so in this process."
        )

    torch.nn.Module.to = refuse
    status = start(model).status()
    return {"phase": status["phase"], "reason": status["reason"]}


def outcome(name: str, *arguments: str) -> dict:
    """What a scenario returns, or how it failed."""
    try:
        return globals()[name](*arguments)
    except Exception:
        return {"failed": traceback.format_exc()}


if __name__ == "__main__":
    print(json.dumps([outcome(*scenario) for scenario in json.loads(sys.argv[2])]))
    sys.stdout.flush()
    os._exit(0)  # the runtime's threads need seconds to end, and there is nothing left to save
