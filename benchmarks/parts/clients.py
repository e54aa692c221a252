"""Several clients at once: throughput, waiting, fairness."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from benchmarks.figures import median
from benchmarks.ground import Ground
from benchmarks.processes import our_server
from benchmarks.table import Row
from benchmarks.visitor import Visitor

PART = "clients"
EACH = 3  # pictures of each client, at least


def measure(ground: Ground) -> Iterator[Row]:
    """Each client asks for its next picture as soon as it has the last one."""
    with our_server(ground.fresh(), ground.warm()) as server:
        Visitor(server.port).draw("warm-up", "square", 0, "")
        alone = None
        for clients in ground.counts.clients:
            ground.say(f"  {clients} clients")
            each = max(EACH, ground.counts.pictures // clients)
            started = time.perf_counter()
            with ThreadPoolExecutor(clients) as pool:
                runs = list(pool.map(lambda client, each=each: _pictures(server.port, client, each), range(clients)))
            rate = clients * each / (time.perf_counter() - started)
            alone = alone or rate
            means = [statistics.mean(took for took, _ in run[1:]) for run in runs]  # the first ones found no queue yet
            waits = [wait for run in runs for _, wait in run]
            note = f"{rate / alone:.2f} x of one client; waiting {median(waits):.2f} s (median)"
            fair = f"slowest client's mean over the fastest's: {max(means) / min(means):.2f}"
            yield Row(
                PART, f"{clients} clients" if clients > 1 else "1 client", rate, "pictures/s", note=f"{note}; {fair}"
            )


def _pictures(port: int, client: int, each: int) -> list[tuple[float, float]]:
    visitor = Visitor(port)
    found = (visitor.draw(f"a red house {client} {number}", "square", number, "") for number in range(each))
    return [(took, answer[1]["timings"]["queue"]) for took, answer in found]
