"""A contender in a process of its own: reads orders as JSON lines, answers each with one line.

    python -m benchmarks.child CONTENDER [CONTENDER ...]      bare, bare-compiled, manager

The manager takes its settings from ACCEL_UI_* variables, as the app does. Two contenders in one process are compared
without what differs from process to process: where memory lies, which cores the threads have.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

MARK = "@answer "  # libraries write to stdout too
Draw = Callable[[dict[str, Any]], dict[str, Any]]


def bare(compiled: bool) -> Draw:
    """The plain script; numbers come with the order."""
    from benchmarks.bare import draw, load

    pipe, file = load(compiled=compiled), Path(tempfile.mkdtemp()) / "picture.png"
    pipe.set_progress_bar_config(disable=True)

    def make(order: dict[str, Any]) -> dict[str, Any]:
        draw(pipe, str(file), order["prompt"], order["seed"], **order["numbers"])
        return {}

    return make


def manager() -> Draw:
    """The manager, without a page."""
    from accel_ui.environment import prepare_environment
    from accel_ui.settings import load_settings

    settings = load_settings()
    prepare_environment(settings.cache_dir)
    from accel_ui.manager import PipelineManager
    from accel_ui.requests import Done

    manager = PipelineManager(settings)
    manager.start()
    manager.wait_until_loaded()
    status = manager.status()
    if status["phase"] != "ready":
        raise RuntimeError(status["reason"])

    def make(order: dict[str, Any]) -> dict[str, Any]:
        *_, last = manager.generate(manager.request(order["prompt"], order["preset"], order["seed"]))
        if not isinstance(last, Done):
            raise RuntimeError(last.reason)
        return {**last.result.info(), "ledger": manager.ledger.rows()}

    return make


def main(kinds: Sequence[str]) -> None:
    contenders = {kind: manager() if kind == "manager" else bare(compiled=kind == "bare-compiled") for kind in kinds}
    answer({"ready": True})
    for line in sys.stdin:
        order, started = json.loads(line), time.perf_counter()
        info = contenders[order["contender"]](order)
        took = time.perf_counter() - started
        answer({**info, "seconds": took, "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024})


def answer(content: dict[str, Any]) -> None:
    print(MARK + json.dumps(content), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
