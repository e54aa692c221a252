"""Every rank makes the same calls, and ends them at the same step."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from accel_ui.compilation.ledger import Ledger, LedgerEntry
from accel_ui.distributed.group import Group
from accel_ui.distributed.orders import RanksLost
from accel_ui.jobs import Stopped

if TYPE_CHECKING:
    from accel_ui.engine import Engine

log = logging.getLogger(__name__)

T = TypeVar("T")

# A run that failed in one rank alone leaves the others waiting for it in the middle of a step, where nothing can wake
# them: so the rank that failed ends, unless the others come to the end of the run within this many seconds.
ALONE = 30.0


@dataclass(frozen=True)
class _Report:
    """How a run ended in one rank.

    Attributes:
        checks: how often it looked whether the run must end: the same in all ranks, or they are out of step.
        graphs: its new lines of the ledger.
    """

    checks: int
    failed: bool
    graphs: tuple[LedgerEntry, ...]


class Lockstep:
    """One rank's part in what all ranks do together.

    Args:
        give_up: ends this process, with a reason, when it must not go on.
    """

    def __init__(self, group: Group, ledger: Ledger, give_up: Callable[[str], None]):
        self.group = group
        self._ledger, self._give_up = ledger, give_up
        self._checks = 0

    def must_end(self, end: bool) -> bool:
        """Between two parts of a run: whether it ends here, which rank 0 decides (`jobs.Job`)."""
        self._checks += 1
        return self.group.decide(end)

    def together(self, engine: Engine, preset: str, work: Callable[[], T]) -> T:
        """Runs `work`, which all ranks run now, and compares how it ended.

        Raises:
            RanksLost: when a rank is gone, or out of step.
            Exception: whatever `work` raises.
        """
        self._checks, lines, error, result = 0, len(self._ledger.entries), None, None
        try:
            result = work()
        except RanksLost:
            raise
        except Exception as failure:
            error = failure
        failed = error is not None and not isinstance(error, Stopped)
        if failed:  # before the comparison, which may be the end of this process
            log.error("The run failed in rank %d", self.group.rank, exc_info=error)
        reports = self._compare(_Report(self._checks, failed, self._ledger.entries[lines:]))
        self._record(engine, preset, reports)
        if error is not None:
            raise error
        return result

    def _compare(self, mine: _Report) -> list[_Report]:
        alone = threading.Timer(ALONE, self._give_up, ("A run failed in one of the processes alone.",))
        alone.daemon = True
        if mine.failed:
            alone.start()
        try:
            reports = self.group.gather(mine)
        finally:
            alone.cancel()
        if len({report.checks for report in reports}) > 1:
            raise RanksLost(f"The processes are out of step ({[report.checks for report in reports]} checks).")
        for rank, report in enumerate(reports):
            if report.failed and not mine.failed:
                log.error("The run failed in rank %d, and not here; its log says why", rank)
        return reports

    def _record(self, engine: Engine, preset: str, reports: list[_Report]) -> None:
        """Rank 0's ledger shows the graphs of all. What one rank cannot compile, all run eagerly."""
        for rank, report in enumerate(reports):
            if rank == self.group.rank:
                continue
            for entry in report.graphs:
                if self.group.rank == 0:
                    self._ledger.add(replace(entry, rank=rank))
                if entry.how == "eager":
                    engine.graphs.fall_back(entry.target, preset, f"rank {rank} runs it eagerly: {entry.why}")
