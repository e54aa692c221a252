"""Rank 0: the manager that serves, and leads the other ranks."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from accel_ui.distributed.orders import GONE, GiveUp, Goodbye, Order, Pulse, RanksLost, Run
from accel_ui.jobs import Job
from accel_ui.manager import PipelineManager
from accel_ui.requests import GenerationResult
from accel_ui.settings import Settings
from accel_ui.torchrun import end_with_parent, launch, leave

if TYPE_CHECKING:
    from accel_ui.distributed.lockstep import Lockstep
    from accel_ui.engine import Engine
    from accel_ui.survey import Survey

log = logging.getLogger(__name__)

PULSE_EVERY, PULSE_WITHIN = 15.0, 30.0  # seconds between two, and for all ranks to answer one
SHOWN_FOR = 5.0  # seconds for which the page tells that a rank is lost, before this one ends too
GOODBYE_WITHIN = 10.0  # seconds for a step, or a load, to end; torchrun kills after 30


class LeadingManager(PipelineManager):
    """A PipelineManager whose runs happen in all ranks."""

    def __init__(self, settings: Settings):
        super().__init__(settings)
        self._ranks: Lockstep | None = None
        self._lost = self._pulse_waits = False
        self._parted = threading.Event()

    # Life

    def start(self) -> None:
        self._enter(
            "loading", "the processes of torchrun meet"
        )  # also for a model that is known to fail: in all of them
        super().start()
        end_with_parent(signal.SIGTERM)
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self._on_signal)
        threading.Thread(target=self._keep_pulse, name="pulse", daemon=True).start()

    def close(self) -> None:
        """Ends the run of all ranks at its next step, and lets them go."""
        if self._phase != "failed":
            self._enter("closing", "the server is shutting down")
        if running := self._worker.running:
            running.stop()
        if self._started:
            self._worker.do(self._say_goodbye)
            if not self._parted.wait(GOODBYE_WITHIN):
                log.warning("The other ranks are busy, most likely compiling: they are ended by torchrun")
        if not self._lost:
            super().close()

    @property
    def can_retry(self) -> bool:
        """The other ranks have ended: torchrun starts all of them again, or a supervisor does."""
        return False

    def _on_signal(self, number: int, frame: Any) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        self.close()
        if self._lost:
            time.sleep(SHOWN_FOR)  # torchrun's signal is often the first sign of a dead rank: the page still tells
        leave(0 if self._parted.is_set() and not self._lost else 1)

    def _lose(self, reason: str) -> None:
        """The others cannot be led any more: says so, then ends."""
        if self._lost:
            return
        self._lost = True
        # torchrun's signal to end is often the first sign of a dead rank, and what is shown until then says more.
        self._phase, self._reason = "failed", reason
        log.error("%s", reason)
        self._parted.set()
        end = threading.Timer(SHOWN_FOR, leave, (1,))
        end.daemon = True
        end.start()

    def _keep_pulse(self) -> None:
        while not self._parted.wait(PULSE_EVERY):
            if not self._pulse_waits:
                self._pulse_waits = True
                self._worker.do(self._pulse)

    # In the worker's thread

    def _survey(self) -> Survey:
        from accel_ui.distributed.group import meet
        from accel_ui.distributed.lockstep import Lockstep
        from accel_ui.survey import survey

        try:
            group, machine = meet(launch(), self.settings)
        except Exception as error:
            self._lose(f"The processes of torchrun did not meet: {error}")  # the others wait for this one
            raise
        self._ranks = Lockstep(group, self.ledger, give_up=self._lose)
        with self._losing():
            return group.unanimous(lambda: survey(self.settings, machine))

    def _build(self, plan: Survey) -> Engine:
        from accel_ui.engine import build_engine

        group = self._ranks.group
        with self._losing():
            return group.unanimous(lambda: build_engine(plan, self.settings, self.ledger, group.mesh))

    def _draw(self, job: Job, may_compile: bool) -> GenerationResult:
        self._tell(Run(replace(job.request, owner=None), may_compile, job.warm_up))
        job.decide_with(self._ranks.must_end)
        engine = self._engine
        with self._losing():
            return self._ranks.together(engine, job.request.preset, lambda: engine.run(job, may_compile=may_compile))

    def _give_up(self, preset: str, why: str) -> None:
        self._tell(GiveUp(preset, why))
        super()._give_up(preset, why)

    def _pulse(self) -> None:
        self._pulse_waits = False
        if self._ranks and not self._parted.is_set():
            # A process that is frozen keeps its connections, and the collective below waits for it.
            frozen = threading.Timer(PULSE_WITHIN, self._lose, (GONE,))
            frozen.daemon = True
            frozen.start()
            with suppress(RanksLost):  # it is said already
                self._ask(Pulse())
            frozen.cancel()

    def _say_goodbye(self) -> None:
        if self._ranks and not self._parted.is_set():
            with suppress(RanksLost):
                self._ask(Goodbye())
        self._parted.set()

    def _tell(self, order: Order) -> None:
        if self._lost or self._parted.is_set():
            raise RanksLost(self._not_ready())
        with self._losing():
            self._ranks.group.tell(order)

    def _ask(self, order: Order) -> None:
        """Tells, and waits for an answer: a message alone may leave although a rank is dead."""
        self._tell(order)
        with self._losing():
            self._ranks.group.gather(None)

    @contextmanager
    def _losing(self) -> Iterator[None]:
        try:
            yield
        except RanksLost as error:
            self._lose(str(error))
            raise

    # Truth

    def status(self) -> dict[str, Any]:
        """Adds the number of graphs that each rank compiled."""
        return {**super().status(), "graphs_by_rank": self.ledger.graphs_by_rank(launch().size)}
