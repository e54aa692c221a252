"""Seconds to compile: the whole graph of each preset, and the repeated blocks in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.ground import Ground
from benchmarks.processes import Child, environment
from benchmarks.table import Row, seconds

PART = "compile"


def measure(ground: Ground) -> Iterator[Row]:
    """From the ledger of a process that compiles in the foreground."""
    whole = ground.first_process.ledger
    yield seconds(PART, "transformer, whole graph, a preset", _took(whole, "transformer"))
    yield seconds(PART, "VAE decoder, a preset", _took(whole, "vae"))
    folder = ground.fresh()
    env = environment(
        folder, ACCEL_UI_COLD="compile", ACCEL_UI_COMPILE_COMPONENTS="transformer", ACCEL_UI_COMPILE_BLOCKS="true"
    )
    ground.say("  compiling repeated blocks")
    with Child("manager", folder, env) as child:
        ledger = child.draw("square", "a red house")["ledger"]
    blocks = [sum(_took(ledger, "transformer"))]
    yield seconds(PART, f"transformer, {len(ledger)} repeated blocks, a preset", blocks)


def _took(ledger: Sequence[dict[str, Any]], target: str) -> list[float]:
    return [row["seconds"] for row in ledger if row["target"].startswith(target) and row["how"] == "compiled"]
