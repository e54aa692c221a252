"""Many presets in one process: does compiling stay linear, and a warm picture as quick? Minutes: not part of a whole run."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import median
from benchmarks.ground import Ground
from benchmarks.processes import Child, environment
from benchmarks.table import Row

PART = "presets"
LATENCY = 1.05


def measure(ground: Ground) -> Iterator[Row]:
    """One process compiles preset after preset, each of a size of its own; the first one is drawn again in between."""
    counts = ground.counts.presets
    folder = ground.fresh()
    file = folder / "presets.toml"
    names = [f"size-{number}" for number in range(counts[-1])]
    file.write_text("".join(_table(name, number) for number, name in enumerate(names)))
    env = environment(
        folder, ACCEL_UI_COLD="compile", ACCEL_UI_COMPILE_COMPONENTS="transformer", ACCEL_UI_PRESETS=str(file)
    )
    alone = None
    with Child("manager", folder, env) as child:
        for number, name in enumerate(names, 1):
            ledger = child.draw(name, "a red house")["ledger"]
            if number in counts:
                ground.say(f"  {number} presets")
                warm = median(child.draw(names[0], f"a red house {i}")["seconds"] for i in range(ground.counts.rounds))
                alone = alone or warm
                each = sum(row["seconds"] for row in ledger) / number
                yield Row(PART, f"compile seconds a preset, {number} presets", each, "s", note="transformer alone")
                what = f"warm picture of the first, {number} presets over {counts[0]}"
                yield Row(PART, what, warm / alone, "x", LATENCY, f"{warm:.2f} s")


def _table(name: str, number: int) -> str:
    """A size that no other preset has the number of tokens of."""
    return f"[presets.{name}]\nheight = 64\nwidth = {64 + 16 * number}\nsteps = 2\nmax_sequence_length = 32\n"
