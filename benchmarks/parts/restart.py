"""The first picture of a second process: with artifacts, with Inductor's cache alone, with nothing."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import median
from benchmarks.ground import Ground
from benchmarks.processes import Child, environment
from benchmarks.table import Row

PART = "restart"
PRESET = "square"
OVER_WARM = 1.0  # seconds


def measure(ground: Ground) -> Iterator[Row]:
    """Seconds over a warm picture, after loading."""
    with Child("manager", folder := ground.fresh(), ground.warm(ACCEL_UI_OUTPUT_DIR=str(folder / "pictures"))) as child:
        first, warm = _first_and_warm(child, ground)
    yield Row(PART, "second process with artifacts", first - warm, "s", OVER_WARM, f"a warm picture takes {warm:.2f} s")
    nothing = ground.first_process.first[PRESET] - warm
    yield Row(PART, "first process, compiling in the foreground", nothing, "s", note="transformer and VAE")
    folder, first_time = ground.plain_script
    with Child("bare-compiled", folder, environment(folder)) as child:
        first, warm = _first_and_warm(child, ground)
    yield Row(PART, "plain script, first process", first_time - warm, "s", note="transformer alone")
    yield Row(PART, "plain script, second process, Inductor's cache alone", first - warm, "s", note="transformer alone")


def _first_and_warm(child: Child, ground: Ground) -> tuple[float, float]:
    took = [child.draw(PRESET, f"a red house {number}")["seconds"] for number in range(1 + ground.counts.rounds)]
    return took[0], median(took[1:])
