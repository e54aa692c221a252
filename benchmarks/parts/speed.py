"""Overhead over the plain script, gain by compiling, remembered prompts, peak memory: the same runs tell all four."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from benchmarks.figures import median, ratios
from benchmarks.ground import Ground
from benchmarks.processes import Child, environment, our_server
from benchmarks.table import Row, ratio, seconds
from benchmarks.visitor import Visitor

PART = "speed"
LONG, SHORT = "long", "square"  # over half a second, eager; and one that has a graph
MANAGER_TO_BARE, HTTP_TO_BARE, MEMORY_TO_BARE = 1.03, 1.10, 1.05
REMEMBERED = "a red house on a green hill"
COMPILED = ("bare compiled", "manager compiled", "manager, VAE too")


def measure(ground: Ground) -> Iterator[Row]:
    """Rounds in which each contender makes the same picture once."""
    kinds, warm = _kinds(ground), ground.warm(ACCEL_UI_MODE="eager")
    with contextlib.ExitStack() as stack:
        children = {name: stack.enter_context(Child(kind, ground.fresh(), env)) for name, (kind, env) in kinds.items()}
        visitor = Visitor(stack.enter_context(our_server(ground.fresh(), warm)).port)
        took: dict[tuple[str, str], list[float]] = defaultdict(list)
        encode: list[float] = []
        last: dict[str, dict[str, Any]] = {}
        for number in range(-1, ground.counts.rounds):  # the first round is the warm-up
            ground.say(f"  round {number + 1} of {ground.counts.rounds}")
            prompt, done = f"a red house, number {number}", {}
            for name, child in children.items():
                for preset in (SHORT,) if name in COMPILED else (LONG, SHORT):
                    last[name] = child.draw(preset, f"{prompt}, {preset}", number + 2)
                    done[name, preset] = last[name]["seconds"]
            done["http", LONG] = visitor.draw(prompt, LONG, number + 2, "")[0]
            if number >= 0:
                encode.append(last["manager"]["timings"]["encode"])
                for key, value in done.items():
                    took[key].append(value)
        again = [children["manager"].draw(SHORT, REMEMBERED) for _ in range(ground.counts.rounds + 1)]
    yield from _speed(took)
    yield seconds(PART, "text encoders on the CPU, a new prompt", encode)
    yield seconds(PART, "text encoders on the CPU, a repeated prompt", [run["timings"]["encode"] for run in again[1:]])
    for ours, theirs, words in (("manager", "bare", "eager"), ("manager compiled", "bare compiled", "compiled")):
        peaks = last[ours]["peak_bytes"], last[theirs]["peak_bytes"]
        note = f"{peaks[0] / 1e6:.0f} MB over {peaks[1] / 1e6:.0f} MB"
        yield Row(PART, f"peak memory, manager over bare, {words}", peaks[0] / peaks[1], "x", MEMORY_TO_BARE, note)


def _kinds(ground: Ground) -> dict[str, tuple[str, dict[str, str]]]:
    return {
        "bare": ("bare", environment(ground.fresh())),
        "manager": ("manager", ground.warm(ACCEL_UI_MODE="eager")),
        "bare compiled": ("bare-compiled", environment(ground.plain_script[0])),
        # The plain script compiles the transformer alone, so here the manager does so too.
        "manager compiled": ("manager", ground.warm(ACCEL_UI_COMPILE_COMPONENTS="transformer")),
        "manager, VAE too": ("manager", ground.warm()),
    }


def _speed(took: dict[tuple[str, str], list[float]]) -> Iterator[Row]:
    for words, ours, theirs, preset, target in (
        ("manager over bare, eager", "manager", "bare", LONG, MANAGER_TO_BARE),
        ("manager over bare, transformer compiled", "manager compiled", "bare compiled", SHORT, MANAGER_TO_BARE),
        ("the HTTP path over bare, eager", "http", "bare", LONG, HTTP_TO_BARE),
        ("compiled over eager, bare", "bare compiled", "bare", SHORT, None),
        ("compiled over eager, manager, transformer", "manager compiled", "manager", SHORT, None),
        ("compiled over eager, manager, transformer and VAE", "manager, VAE too", "manager", SHORT, None),
    ):
        values, base = took[ours, preset], took[theirs, preset]
        note = f"{preset}: {median(values):.2f} s over {median(base):.2f} s"
        yield ratio(PART, words, ratios(values, base), target, note)
