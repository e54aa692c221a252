"""What a running server tells about itself, as plain data for the page, the API and `/status`."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accel_ui.requests import GenerationResult

if TYPE_CHECKING:
    from accel_ui.survey import Survey

RECENT_RUNS = 20


@dataclass(frozen=True)
class Readiness:
    """Whether the default preset answers at once.

    Attributes:
        state: ``ready``, ``loading``, ``warming`` (its graphs are being made), ``failed`` or ``closing``.
        reason: in words, for anybody to read.
    """

    ready: bool
    state: str
    reason: str


class RunLog:
    """Counts runs, and remembers the timings of the last ones. Written by one thread, read by any."""

    def __init__(self) -> None:
        self._runs = self._since_graph = 0
        self._recent: deque[dict[str, Any]] = deque(maxlen=RECENT_RUNS)

    def add(self, result: GenerationResult) -> None:
        """Takes a finished run that was not a warm-up."""
        self._runs += 1
        self._since_graph = 0 if result.graphs_compiled else self._since_graph + 1
        self._recent.append({"run": self._runs, "preset": result.preset.id, "timings": result.info()["timings"]})

    def facts(self) -> dict[str, Any]:
        """Runs so far, those since a graph was compiled, and the last ones."""
        return {"runs": self._runs, "runs_since_last_graph": self._since_graph, "recent": list(self._recent)}


def plan_facts(plan: Survey | None) -> dict[str, Any]:
    """Device, dtype, mode and placement with their reasons, and what the device says now; empty before the plan is made."""
    backend = plan.backend if plan else None
    programs = backend.programs() if backend else None
    return {
        "device": backend.name if backend else None,
        "device_name": plan.detection.name if plan else None,
        "dtype": plan.dtype if plan else None,
        "mode": plan.mode if plan else None,
        "decisions": [vars(decision) for decision in plan.decisions] if plan else [],
        "placement": [vars(assignment) for assignment in plan.placement.assignments] if plan else [],
        "memory_in_use": backend.memory_in_use() if backend else None,
        "programs": vars(programs) if programs else None,
    }
