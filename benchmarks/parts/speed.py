"""Overhead over the plain script, gain by compiling, remembered prompts, peak memory: the same runs tell all four."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.figures import median, ratios
from benchmarks.ground import Ground
from benchmarks.processes import Child, environment, our_server
from benchmarks.table import Row, ratio, seconds
from benchmarks.visitor import Visitor

PART = "speed"
LONG, SHORT = "long", "square"  # over half a second, eager; and one that has a graph
MANAGER_TO_BARE, HTTP_TO_BARE, MEMORY_TO_BARE = 1.03, 1.10, 1.05
SHORTS = 3  # of them in a round: they are quick, and a few hundredths of a second decide
EAGER_TURNS = [("eager", "bare"), ("eager", "manager")]
LONG_TURNS = [*EAGER_TURNS, ("http", "")]
SHORT_TURNS = [*EAGER_TURNS, ("compiled", "bare-compiled"), ("compiled", "manager"), ("VAE too", "manager")]
REMEMBERED = "a red house on a green hill"

Took = dict[tuple[str, str], list[float]]


def measure(ground: Ground) -> Iterator[Row]:
    """Rounds in which each contender makes the same pictures."""
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
        ground.say(f"  {ground.counts.rounds} rounds")
        for turn in _turns(ground.counts.rounds):
            if turn.pair == "http":
                value = visitor.draw(turn.prompt, turn.preset, turn.seed, "")[0]
            else:
                answer = pairs[turn.pair].draw(turn.preset, turn.prompt, turn.seed, turn.contender)
                value = answer["seconds"]
            if turn.counts:
                took[f"{turn.pair} {turn.contender}".strip(), turn.preset].append(value)
                if (turn.pair, turn.contender) == ("eager", "manager"):
                    encode.append(answer["timings"]["encode"])
        again = [
            pairs["eager"].draw(SHORT, REMEMBERED, contender="manager")["timings"]["encode"]
            for _ in range(ground.counts.rounds + 1)
        ]
    yield from _speed(took)
    yield seconds(PART, "text encoders on the CPU, a new prompt", encode)
    yield seconds(PART, "text encoders on the CPU, a repeated prompt", again[1:])
    yield _memory(ground, eager)


@dataclass(frozen=True)
class Turn:
    """One picture of one contender; turns of the warm-up do not count."""

    counts: bool
    pair: str
    contender: str
    preset: str
    prompt: str
    seed: int


def _turns(rounds: int) -> Iterator[Turn]:
    """All contenders draw each picture once; the one that goes first changes."""
    for number in range(-1, rounds):  # the first round is the warm-up
        for preset, contenders, times in ((LONG, LONG_TURNS, 1), (SHORT, SHORT_TURNS, SHORTS)):
            for time in range(times):
                prompt = f"a {preset} red house, number {number}, {time}"  # new to everybody
                for pair, contender in contenders if (number + time) % 2 else reversed(contenders):
                    yield Turn(number >= 0, pair, contender, preset, prompt, number + 2)


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
