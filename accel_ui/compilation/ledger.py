"""The record of every graph: what was made or loaded, when, how long it took, and why."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Literal

How = Literal["compiled", "loaded", "eager"]


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


@dataclass(frozen=True)
class LedgerEntry:
    """One line.

    Attributes:
        how: ``compiled`` in this process, ``loaded`` from an artifact, or ``eager`` because it could not be compiled.
        graphs: calls of the compiler's backend that it took (0 when loaded).
        seconds: how long it took.
        why: the reason in words.
        rank: the process that it happened in, where several share a model.
        programs: what the device's own compiler made meanwhile, single operations included; None where it makes none.
    """

    target: str
    preset: str
    how: How
    graphs: int
    seconds: float
    why: str
    when: str = field(default_factory=_now)
    programs: int | None = None
    rank: int = 0


class Ledger:
    """Lines in the order in which they happened; safe to read from any thread."""

    def __init__(self) -> None:
        self._entries: list[LedgerEntry] = []
        self._lock = threading.Lock()

    def add(self, entry: LedgerEntry) -> None:
        with self._lock:
            self._entries.append(entry)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        with self._lock:
            return tuple(self._entries)

    @property
    def graphs(self) -> int:
        """Graphs compiled by this process so far."""
        return self.graphs_by_rank(1)[0]

    def graphs_by_rank(self, ranks: int) -> list[int]:
        """The same for each of the processes that share a model; this one is the first."""
        return [sum(entry.graphs for entry in self.entries if entry.rank == rank) for rank in range(ranks)]

    def rows(self) -> list[dict]:
        """The lines for JSON and tables."""
        return [{**asdict(entry), "seconds": round(entry.seconds, 2)} for entry in self.entries]
