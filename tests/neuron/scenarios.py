"""Real pipelines through the real PipelineManager on the emulated device: what the tests run in processes of their own.

The fork server imports this module, so everything heavy is imported here, at its top.
"""

from __future__ import annotations

import copy
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import diffusers.pipelines.auto_pipeline  # noqa: F401
import numpy as np
import torch
import torch._dynamo

from accel_ui import engine, survey  # noqa: F401
from accel_ui.backends.neuron import NeuronBackend
from accel_ui.report import diagnose
from accel_ui.requests import Compiling, Done

from . import compiler, device
from .studio import Studio, events, graphs_of, picture

PROMPTS = ("A red house", "x", "雪山 🏔️", "word " * 2000, "A sailboat on the sea at sunset")


def compare(folder: Path, model: str, presets: Sequence[str], **settings: Any) -> dict[str, Any]:
    """The pictures of a model on the device beside those of the CPU, and the graphs they took."""
    machine, neuron = device.install(), compiler.register()
    studio = Studio(folder, model)
    on_cpu = studio.open(device="cpu", mode="eager", dtype=settings["dtype"])
    expected = {preset: picture(on_cpu, preset) for preset in presets}
    on_cpu.close()
    manager = studio.open(**settings)
    found = {preset: picture(manager, preset) for preset in presets}
    graphs = len(neuron.graphs)
    for preset in presets:
        picture(manager, preset, seed=1, prompt=PROMPTS[4])
    status = manager.status()
    parts = manager._engine.pipeline.components.items()
    manager.close()
    return {
        "differences": {preset: float(np.abs(found[preset] - expected[preset]).max()) for preset in presets},
        "ledger": graphs_of(manager),
        "graphs": graphs,
        "graphs_afterwards": len(neuron.graphs) - graphs,
        "states": {row["id"]: row["state"] for row in status["presets"] if row["id"] in presets},
        "devices": {name: part.device.type for name, part in parts if hasattr(part, "device")},
        "dtypes": sorted(str(dtype) for dtype in machine.dtypes),
    }


def mixed_requests(folder: Path, presets: Sequence[str], count: int, **settings: Any) -> dict[str, Any]:
    """`count` requests from four threads after a warm-up, and each of them again alone."""
    device.install()
    neuron = compiler.register()
    manager = Studio(folder, "flux").open(**settings)
    for preset in presets:
        list(manager.warm_up(preset))
    warm = len(neuron.graphs)
    wanted = [(presets[i % len(presets)], i // 3, PROMPTS[i % len(PROMPTS)]) for i in range(count)]
    together: dict[int, Any] = {}

    def client(first: int) -> None:
        for i in range(first, count, 4):
            *_, together[i] = events(manager, *wanted[i])

    threads = [threading.Thread(target=client, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failures = [event.reason for event in together.values() if not isinstance(event, Done)]
    alone = range(0, count, 7)
    same = [_pixels(together[i]) == _pixels(events(manager, *wanted[i])[-1]) for i in alone]
    status = manager.status()
    manager.close()
    return {
        "failures": failures,
        "warm": warm,
        "afterwards": len(neuron.graphs) - warm,
        "pictures": len(together),
        "same_alone": same,
        "runs_since_last_graph": status["runs_since_last_graph"],
    }


def _pixels(event: Done) -> bytes:
    return event.result.images[0].tobytes()


def reads(folder: Path, model: str, mode: str) -> dict[str, Any]:
    """How often the host waits for a value of the device, in a run of two steps and in one of seven."""
    machine = device.install()
    compiler.register()
    manager = Studio(folder, model).open(mode=mode, preview_every=0)
    counts = {}
    for preset in ("square", "long"):
        picture(manager, preset)
        machine.reads.clear()
        picture(manager, preset, seed=1)  # its prompt is remembered
        counts[preset] = dict(machine.reads)
    manager.close()
    return {"reads": counts, "dtypes": sorted(str(dtype) for dtype in machine.dtypes)}


def another_size(folder: Path, blocks: bool) -> dict[str, Any]:
    """A preset whose size changes after its graphs are made, as no user can do it."""
    device.install()
    neuron = compiler.register()
    manager = Studio(folder, "flux").open(compile_blocks=blocks)
    before = picture(manager, "square")
    graphs = len(neuron.graphs)
    preset = manager._engine.presets["square"]
    object.__setattr__(preset, "width", 48)
    *_, refused = events(manager, "square")
    object.__setattr__(preset, "width", 32)
    after = picture(manager, "square")
    manager.close()
    return {
        "reason": refused.reason,
        "more_graphs": len(neuron.graphs) - graphs,
        "warm_shape_works": bool((before == after).all()),
    }


def cold_preset(folder: Path) -> dict[str, Any]:
    """What a visitor sees who asks for a preset without a graph, and who asks again."""
    device.install()
    compiler.register()
    manager = Studio(folder, "flux").open()
    state = manager.preset_state("square")
    first, second = events(manager, "square"), events(manager, "square", seed=1)
    decisions = {row["subject"]: row for row in manager.status()["decisions"]}
    child = manager._engine.fits_twice()
    manager.close()
    return {
        "child": child,
        "state": state,
        "compiling": [event.component for event in first if isinstance(event, Compiling) and not event.elapsed],
        "compiling_again": sum(isinstance(event, Compiling) for event in second),
        "first": first[-1].result.info(),
        "second": second[-1].result.info(),
        "cold": decisions["cold presets"],
        "device": decisions["device"],
        "dtype": decisions["dtype"],
    }


def vae_does_not_compile(folder: Path) -> dict[str, Any]:
    """The compiler fails on the VAE, as it was reported for real models."""
    device.install()
    neuron = compiler.register(compiler.NeuronCompiler(fails_on=lambda graph: compiler.calls(graph, "interpolate")))
    studio = Studio(folder, "flux")
    on_cpu = studio.open(device="cpu", mode="eager", dtype="bfloat16")
    expected = picture(on_cpu, "square")
    on_cpu.close()
    manager = studio.open()
    difference = float(np.abs(picture(manager, "square") - expected).max())
    tried = len(manager.ledger.entries)
    *_, again = events(manager, "square", seed=1)
    state = manager.preset_state("square")
    manager.close()
    return {
        "difference": difference,
        "state": state,
        "ledger": [(row["target"], row["how"], row["why"]) for row in manager.ledger.rows()],
        "tried_again": len(manager.ledger.entries) - tried,
        "graphs": len(neuron.graphs),
        "mode": again.result.mode,
    }


def rules(name: str) -> str:
    """What the emulated device says when one of its rules is broken."""
    device.install()
    compiler.register()
    ones = torch.ones(2, 2, device="neuron")
    broken = {
        "mixed devices": lambda: ones + torch.ones(2, 2),
        "float64": lambda: torch.ones(2, dtype=torch.float64, device="neuron"),
        "float64 by conversion": lambda: ones.double(),
        "generator of the CPU": lambda: torch.randn(2, device="neuron", generator=torch.Generator("cpu")),
        "another core": lambda: torch.ones(2, device="neuron:1"),
        "dynamic shapes": lambda: torch.compile(torch.sin, backend="neuron", dynamic=True, fullgraph=True)(ones),
        "graph of CPU tensors": lambda: torch.compile(torch.sin, backend="neuron", fullgraph=True)(ones.cpu()),
    }
    try:
        broken[name]()
    except Exception as error:
        return str(error)
    return "nothing"


def tensors() -> dict[str, Any]:
    """Tensors of the emulated device where pipelines take them for granted."""
    device.install()
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4)).to("neuron")
    copied = copy.deepcopy(module)
    values = torch.arange(6.0).reshape(2, 3)
    with torch.no_grad():
        out, expected = copied(values.to("neuron")), module.to("cpu")(values)
    into = torch.empty(0, device="neuron")
    torch.add(out, 1, out=into)
    return {
        "same": bool((out.cpu() == expected).all()),
        "device": str(out.device),
        "text": repr(out),
        "resized": tuple(into.shape),
        "state": sorted(copied.state_dict()),
    }


def detect_package(
    folder: Path, version: str | None, requires: Sequence[str], code: str, variables: dict[str, str] | None = None
) -> dict[str, Any]:
    """What detection says of an installed package torch_neuronx with this metadata and this code; None is no package."""
    os.environ.update(variables or {})
    if version:
        (folder / "torch_neuronx").mkdir()
        (folder / "torch_neuronx" / "__init__.py").write_text(code)
        about = folder / f"torch_neuronx-{version}.dist-info"
        about.mkdir()
        lines = ["Metadata-Version: 2.1", "Name: torch-neuronx", f"Version: {version}"]
        (about / "METADATA").write_text("\n".join([*lines, *(f"Requires-Dist: {name}" for name in requires), ""]))
        sys.path.insert(0, str(folder))
    backend = NeuronBackend()
    environment = backend.environment(folder / "cache")
    return {**vars(backend.detect()), "environment": environment, "compile_obstacle": backend.compile_obstacle()}


def start(
    folder: Path, machine: dict[str, Any], missing: Sequence[str] = (), pipeline: str = "flux", **settings: Any
) -> dict[str, Any]:
    """How the app starts on `machine` with a version of the package that lacks some functions, and one picture."""
    device.install(device.Machine(**machine))
    compiler.register()
    for function in missing:
        delattr(torch.neuron, function)
    studio = Studio(folder, pipeline)
    report = diagnose(studio.settings(**settings))
    manager = studio.open(**settings)
    status = manager.status()
    made = None
    if status["phase"] == "ready":
        *_, last = events(manager, "square")
        made = isinstance(last, Done)
        status = manager.status()
    manager.close()
    return {
        "problem": report["problem"],
        "detection": report["devices"]["neuron"],
        "placement": {row["component"]: row["device"] for row in status["placement"]},
        "decisions": {row["subject"]: row for row in status["decisions"]},
        "phase": status["phase"],
        "reason": status["reason"],
        "device": status["device"],
        "memory_in_use": status["memory_in_use"],
        "made": made,
    }
