"""200 requests over mixed sizes, prompts and steps, over HTTP, beside the usual demo app."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from benchmarks.figures import median, percentile
from benchmarks.ground import Ground
from benchmarks.processes import environment, numbers_of, our_server, usual_server
from benchmarks.table import Row
from benchmarks.visitor import Visitor

PART = "stall"
PRESETS = ("square", "landscape", "portrait")
SUBJECTS = ("a red house", "a sailboat on the sea at sunset", "a yellow tent in the snow", "a pink windmill, a rainbow")
P99_TO_P50 = 1.3
EARLY = 20  # requests after which memory is looked at for the first time


def measure(ground: Ground) -> Iterator[Row]:
    """Latencies of both, request by request in turn; graphs made after the warm-up; memory on the way."""
    wanted = [(PRESETS[i % len(PRESETS)], f"{SUBJECTS[i % 4]} {i}", i) for i in range(ground.counts.requests)]
    with (
        our_server(ground.fresh(), ground.warm()) as ours,
        usual_server(folder := ground.fresh(), environment(folder)) as usual,
    ):
        us, them = Visitor(ours.port), Visitor(usual.port)
        for preset in PRESETS:
            us.draw("warm-up", preset, 0, "")
        graphs = us.ask("status")[0]["graphs_compiled"], them.ask("graphs")[0]
        latencies = {"Accel UI": defaultdict(list), "the usual Space": defaultdict(list)}
        memory = []
        for number, (preset, prompt, seed) in enumerate(wanted):
            if number in (min(EARLY, len(wanted) - 1), len(wanted) - 1):
                memory.append((ours.memory(), usual.memory()))
            if number % 50 == 0:
                ground.say(f"  request {number} of {len(wanted)}")
            latencies["Accel UI"][preset].append(us.draw(prompt, preset, seed, "")[0])
            size = numbers_of(preset)
            values = (prompt, seed, size["width"], size["height"], size["num_inference_steps"])
            latencies["the usual Space"][preset].append(them.draw(*values)[0])
        made = us.ask("status")[0]["graphs_compiled"] - graphs[0], them.ask("graphs")[0] - graphs[1]
    yield Row(PART, "answering port of the usual Space", usual.up, "s", note="model and compilation come first")
    yield Row(PART, "graphs compiled after the warm-up, Accel UI", made[0], "", 0, f"{len(wanted)} requests, 3 sizes")
    yield Row(PART, "graphs compiled after the warm-up, the usual Space", made[1], "", note="warm-up: one size")
    for name, by_preset in latencies.items():
        yield from _rows(name, by_preset)
    for name, early, late in zip(latencies, *memory, strict=True):
        note = f"from {early / 1e6:.0f} MB after {min(EARLY, len(wanted))} requests"
        yield Row(PART, f"memory growth to the last request, {name}", (late - early) / 1e6, "MB", note=note)


def _rows(name: str, by_preset: dict[str, list[float]]) -> Iterator[Row]:
    everything = [value for values in by_preset.values() for value in values]
    p50, p95, p99 = (percentile(everything, share) for share in (0.5, 0.95, 0.99))
    note = f"p50 {p50:.2f} s, p95 {p95:.2f} s, p99 {p99:.2f} s"
    yield Row(PART, f"worst request, {name}", max(everything), "s", note=note)
    # Sizes differ in price, so each request is compared with the median of its own size.
    relative = [value / median(values) for values in by_preset.values() for value in values]
    target = P99_TO_P50 if name == "Accel UI" else None
    yield Row(PART, f"p99 over p50, {name}", percentile(relative, 0.99), "x", target, "within each size")
