"""Overhead over the plain script, gain by compiling, remembered prompts, peak memory: the same runs tell all four."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator

from benchmarks.figures import median, ratios
from benchmarks.ground import Ground
from benchmarks.processes import Child, environment, our_server
from benchmarks.table import Row, ratio, seconds
from benchmarks.visitor import Visitor

PART = "speed"
LONG, SHORT = "long", "square"  # over half a second, eager; and one that has a graph
MANAGER_TO_BARE, HTTP_TO_BARE, MEMORY_TO_BARE = 1.03, 1.10, 1.05
REMEMBERED = "a red house on a green hill"

Took = dict[tuple[str, str], list[float]]


def measure(ground: Ground) -> Iterator[Row]:
    """Rounds in which each contender makes the same picture once; the one that goes first changes."""
    eager, compiled, whole = (
        ground.warm(ACCEL_UI_MODE="eager"),
        # The plain script compiles the transformer alone, so here the manager does so too.
        ground.warm(
            ACCEL_UI_COMPILE_COMPONENTS="transformer", TORCHINDUCTOR_CACHE_DIR=str(ground.plain_script[0] / "inductor")
        ),
        ground.warm(),
    )
    with contextlib.ExitStack() as stack:
        pairs = {
            "eager": stack.enter_context(Child("bare manager", ground.fresh(), eager)),
            "compiled": stack.enter_context(Child("bare-compiled manager", ground.fresh(), compiled)),
            "VAE too": stack.enter_context(Child("manager", ground.fresh(), whole)),
        }
        visitor = Visitor(stack.enter_context(our_server(ground.fresh(), eager)).port)
        took: Took = defaultdict(list)
        encode: list[float] = []
        for number in range(-1, ground.counts.rounds):  # the first round is the warm-up
            ground.say(f"  round {number + 1} of {ground.counts.rounds}")
            prompt, seed = f"a red house, number {number}", number + 2
            turns = [
                ("eager", "bare", LONG),
                ("eager", "manager", LONG),
                ("http", "", LONG),
                ("eager", "bare", SHORT),
                ("eager", "manager", SHORT),
                ("compiled", "bare-compiled", SHORT),
                ("compiled", "manager", SHORT),
                ("VAE too", "manager", SHORT),
            ]
            for pair, contender, preset in turns if number % 2 else reversed(turns):
                if pair == "http":
                    value = visitor.draw(prompt, preset, seed, "")[0]
                else:
                    answer = pairs[pair].draw(preset, prompt, seed, contender)
                    value = answer["seconds"]
                    if number >= 0 and (pair, contender, preset) == ("eager", "manager", LONG if number % 2 else SHORT):
                        encode.append(answer["timings"]["encode"])  # the first time that it sees this prompt
                if number >= 0:
                    took[f"{pair} {contender}".strip(), preset].append(value)
        again = [
            pairs["eager"].draw(SHORT, REMEMBERED, contender="manager")["timings"]["encode"]
            for _ in range(ground.counts.rounds + 1)
        ]
    yield from _speed(took)
    yield seconds(PART, "text encoders on the CPU, a new prompt", encode)
    yield seconds(PART, "text encoders on the CPU, a repeated prompt", again[1:])
    yield _memory(ground, eager)


def _speed(took: Took) -> Iterator[Row]:
    for words, ours, theirs, preset, target in (
        ("manager over bare, eager", "eager manager", "eager bare", LONG, MANAGER_TO_BARE),
        ("manager over bare, eager", "eager manager", "eager bare", SHORT, MANAGER_TO_BARE),
        ("manager over bare, compiled", "compiled manager", "compiled bare-compiled", SHORT, MANAGER_TO_BARE),
        ("the HTTP path over bare, eager", "http", "eager bare", LONG, HTTP_TO_BARE),
        ("compiled over eager, bare", "compiled bare-compiled", "eager bare", SHORT, None),
        ("compiled over eager, manager", "compiled manager", "eager manager", SHORT, None),
        ("compiled over eager, manager, VAE too", "VAE too manager", "eager manager", SHORT, None),
    ):
        values, base = took[ours, preset], took[theirs, preset]
        note = f"{preset}: {median(values):.2f} s over {median(base):.2f} s"
        yield ratio(PART, words, ratios(values, base), target, note)


def _memory(ground: Ground, eager: dict[str, str]) -> Row:
    """Of processes with one contender each."""
    peaks = []
    for kind, env in (("manager", eager), ("bare", environment(ground.fresh()))):
        with Child(kind, ground.fresh(), env) as child:
            peaks.append([child.draw(LONG, f"a red house {number}")["peak_bytes"] for number in range(5)][-1])
    note = f"{peaks[0] / 1e6:.0f} MB over {peaks[1] / 1e6:.0f} MB"
    return Row(PART, "peak memory, manager over bare, eager", peaks[0] / peaks[1], "x", MEMORY_TO_BARE, note)
