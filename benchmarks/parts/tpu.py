"""Compiled over eager, and restarts, on the torch_tpu stack: on a TPU, or with XLA's CPU plugin in place of the chip."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import median, ratios
from benchmarks.ground import Ground
from benchmarks.processes import ROOT, Child, environment
from benchmarks.table import Row, ratio, seconds

PART = "tpu"
PRESET = "square"
OVER_WARM = 1.0  # seconds
ON_CPU = ROOT / "tests" / "tpu" / "tpu_on_cpu.py"


def measure(ground: Ground) -> Iterator[Row]:
    """Processes one after another on one cache: nothing there, artifacts, the backend's own cache alone, eager."""
    if importlib.util.find_spec("torch_tpu") is None:
        yield Row(PART, "torch_tpu is not installed", None)
        return
    folder = ground.fresh()
    first, warm = _pictures(ground, folder, "nothing on disk")
    stack = "XLA's CPU plugin in place of the chip" if _plugin() else "on the chip"
    yield Row(PART, "first process, compiling", first - median(warm), "s", note=f"{stack}; transformer and VAE")
    first, warm = _pictures(ground, folder, "with artifacts")
    note = f"a warm picture takes {median(warm):.2f} s"
    yield Row(PART, "second process with artifacts", first - median(warm), "s", OVER_WARM, note)
    shutil.rmtree(folder / "cache" / "artifacts")
    first, again = _pictures(ground, folder, "with the backend's cache alone")
    yield Row(PART, "second process, torch_tpu's cache alone", first - median(again), "s")
    first, eager = _pictures(ground, folder, "eager", ACCEL_UI_MODE="eager")
    yield seconds(PART, "a warm picture, eager", eager)
    yield ratio(PART, "compiled over eager", ratios(warm, eager))


def _plugin() -> bool:
    return importlib.util.find_spec("lammps_jax_pjrt_cpu") is not None


def _pictures(ground: Ground, folder: Path, words: str, **more: str) -> tuple[float, list[float]]:
    """Seconds of the first picture of a process, and of later ones."""
    ground.say(f"  {words}")
    more = {"ACCEL_UI_DTYPE": "float32", "TORCH_DEVICE_BACKEND_AUTOLOAD": "1", "TORCH_CPP_LOG_LEVEL": "ERROR", **more}
    env = environment(folder, ACCEL_UI_DEVICE="tpu", **more)
    with Child("manager", folder, env, before=[str(ON_CPU)] if _plugin() else []) as child:
        took = [child.draw(PRESET, f"a red house {number}")["seconds"] for number in range(1 + ground.counts.rounds)]
    return took[0], took[1:]
