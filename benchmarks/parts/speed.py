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
PRESET = "long"
MANAGER_TO_BARE, HTTP_TO_BARE, MEMORY_TO_BARE = 1.03, 1.10, 1.05
REMEMBERED = "a red house on a green hill"


def measure(ground: Ground) -> Iterator[Row]:
    """Rounds in which each contender makes the same picture once."""
    with contextlib.ExitStack() as stack:
        children = {
            name: stack.enter_context(Child(kind, ground.fresh(), env)) for name, (kind, env) in _kinds(ground).items()
        }
        server = stack.enter_context(our_server(ground.fresh(), ground.warm(ACCEL_UI_MODE="eager")))
        visitor = Visitor(server.port)
        took: dict[str, list[float]] = defaultdict(list)
        encode: list[float] = []
        last: dict[str, dict[str, Any]] = {}
        for number in range(-1, ground.counts.rounds):  # the first round is the warm-up
            ground.say(f"  round {number + 1} of {ground.counts.rounds}")
            prompt, done = f"a red house, number {number}", {}
            for name, child in children.items():
                last[name] = child.draw(PRESET, prompt, number + 2)
                done[name] = last[name]["seconds"]
            done["http"] = visitor.draw(prompt, PRESET, number + 2, "")[0]
            if number >= 0:
                encode.append(last["manager"]["timings"]["encode"])
                for name, value in done.items():
                    took[name].append(value)
        again = [
            children["manager"].draw(PRESET, REMEMBERED)["timings"]["encode"] for _ in range(ground.counts.rounds + 1)
        ]
    yield from _speed(took)
    yield seconds(PART, "text encoders on the CPU, a new prompt", encode)
    yield seconds(PART, "text encoders on the CPU, a repeated prompt", again[1:])
    for ours, theirs, words in (("manager", "bare", "eager"), ("manager compiled", "bare compiled", "compiled")):
        peaks = last[ours]["peak_bytes"], last[theirs]["peak_bytes"]
        note = f"{peaks[0] / 1e6:.0f} MB over {peaks[1] / 1e6:.0f} MB"
        yield Row(PART, f"peak memory, manager over bare, {words}", peaks[0] / peaks[1], "x", MEMORY_TO_BARE, note)


def _kinds(ground: Ground) -> dict[str, tuple[str, dict[str, str]]]:
    return {
        "bare": ("bare", environment(ground.fresh())),
        "manager": ("manager", ground.warm(ACCEL_UI_MODE="eager")),
        "bare compiled": ("bare-compiled", environment(ground.fresh())),
        # The plain script compiles the transformer alone, so here the manager does so too.
        "manager compiled": ("manager", ground.warm(ACCEL_UI_COMPILE_COMPONENTS="transformer")),
        "manager, VAE too": ("manager", ground.warm()),
    }


def _speed(took: dict[str, list[float]]) -> Iterator[Row]:
    run = f"a run takes {median(took['bare']):.2f} s"
    yield ratio(PART, "manager over bare, eager", ratios(took["manager"], took["bare"]), MANAGER_TO_BARE, run)
    yield ratio(
        PART,
        "manager over bare, transformer compiled",
        ratios(took["manager compiled"], took["bare compiled"]),
        MANAGER_TO_BARE,
        f"a run takes {median(took['bare compiled']):.2f} s",
    )
    yield ratio(PART, "the HTTP path over bare, eager", ratios(took["http"], took["bare"]), HTTP_TO_BARE, run)
    yield ratio(PART, "compiled over eager, bare", ratios(took["bare compiled"], took["bare"]))
    yield ratio(PART, "compiled over eager, manager", ratios(took["manager compiled"], took["manager"]))
    yield ratio(PART, "compiled over eager, manager, VAE too", ratios(took["manager, VAE too"], took["manager"]))
