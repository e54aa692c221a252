"""One request on its way through the accelerator: its events, its clock, its stop button."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING

from accel_ui.requests import (
    Compiling,
    Decoding,
    Done,
    Encoding,
    Event,
    Failed,
    GenerationRequest,
    Queued,
    Step,
    Timings,
)

if TYPE_CHECKING:
    from PIL.Image import Image

HEARTBEAT = 0.5  # seconds between repeated events while nothing new happens, so that a page can count up


class Stopped(Exception):
    """The user, or the time limit, ended the run; the message says which."""


class Job:
    """Created and read by the thread that asks, run by the accelerator's thread.

    Args:
        waits_for: number of jobs ahead, and why the accelerator does not run yet.
        time_limit: seconds of run time; waiting and compiling do not count.
        warm_up: compile what is cold, and keep no picture.
        client: who asks, so that each gets its turn; "" for the program itself.
    """

    def __init__(
        self,
        request: GenerationRequest,
        waits_for: Callable[[Job], tuple[int, str]],
        time_limit: float,
        *,
        warm_up: bool = False,
        client: str = "",
    ):
        self.request, self.warm_up, self.client = request, warm_up, client
        self.context = copy_context()  # of who asks: Gradio keeps in it which visitor that is
        self._waits_for, self._time_limit = waits_for, time_limit
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._seconds = dict.fromkeys(Timings.__dataclass_fields__, 0.0)
        self._stage, self._since = "queue", time.perf_counter()
        self._began: float | None = None
        self._denoiser = ""
        self._synchronize: Callable[[], None] = lambda: None
        self._graph: tuple[str, float] | None = None
        self._decide: Callable[[bool], bool] = lambda end: end

    # For the thread that asks.

    def stop(self) -> None:
        """Ends the run within a step; before it began, at once."""
        self._stop.set()

    def refuse(self, reason: str) -> None:
        """Ends a job that waits, with a reason other than the user's wish."""
        self.emit(Failed(reason, refused=True))
        self.stop()

    @property
    def stopped(self) -> bool:
        """Whether :meth:`stop` was called."""
        return self._stop.is_set()

    @property
    def graph_in_the_making(self) -> tuple[str, float] | None:
        """Target that is being compiled, and seconds so far; None when none is."""
        graph = self._graph
        return graph and (graph[0], time.perf_counter() - graph[1])

    def events(self) -> Iterator[Event]:
        """All events until the last one. Closing the iterator stops the job."""
        last: Event = Queued(*self._waits_for(self))
        since = time.perf_counter()
        try:
            yield last
            while not isinstance(last, (Done, Failed)):
                try:
                    last, since = self._events.get(timeout=HEARTBEAT), time.perf_counter()
                except queue.Empty:
                    if isinstance(last, Queued):
                        last = Failed("Stopped.", stopped=True) if self.stopped else Queued(*self._waits_for(self))
                    elif isinstance(last, Compiling):
                        last = replace(last, elapsed=time.perf_counter() - since)
                yield last
        finally:
            self.stop()

    # For the accelerator's thread.

    def begin(self, denoiser: str, synchronize: Callable[[], None]) -> None:
        """The job has the accelerator. `synchronize` waits for the device, so that stages are timed truly.

        Raises:
            Stopped: when it was stopped while it waited.
        """
        self._denoiser, self._synchronize = denoiser, synchronize
        self._began = time.perf_counter()
        self._enter("encode")
        self.check()

    def decide_with(self, decide: Callable[[bool], bool]) -> None:
        """From now on `decide(end)` has the last word on whether the run ends: several processes end it together."""
        self._decide = decide

    def emit(self, event: Event) -> None:
        """Hands `event` to the reader."""
        self._events.put(event)

    def step(self, index: int, count: int, preview: Image | None = None) -> None:
        """Denoising step `index` of `count` is over (1-based).

        Raises:
            Stopped
        """
        self.emit(Step(index, count, preview))
        self.check()

    def timings(self) -> Timings:
        """Seconds of each stage until now."""
        self._enter(self._stage)
        return Timings(**self._seconds)

    def check(self) -> None:
        """Ends the run if it must end.

        Raises:
            Stopped
        """
        running = time.perf_counter() - self._began - self._seconds["compile"]
        too_long = running > self._time_limit
        if not self._decide(self.stopped or too_long):
            return
        if too_long and not self.stopped:
            raise Stopped(f"Stopped after {running:.0f} s: ACCEL_UI_TIME_LIMIT allows {self._time_limit:g} s a run.")
        raise Stopped("Stopped.")

    def _enter(self, stage: str) -> None:
        now = time.perf_counter()
        self._seconds[self._stage] += now - self._since
        self._stage, self._since = stage, now

    @contextmanager
    def encoding(self) -> Iterator[None]:
        """Around the text encoders."""
        self.emit(Encoding())
        yield

    def calling(self, component: str) -> None:
        """Before each call of the denoiser and the VAE (`compilation.graphs.Watcher`).

        Raises:
            Stopped
        """
        self.check()
        if component == self._denoiser and self._stage == "encode":
            self._enter("denoise")
        elif component == "vae":
            self._synchronize()
            self._enter("decode")
            self.emit(Decoding())

    @contextmanager
    def compiling(self, target: str) -> Iterator[None]:
        """Around the making of a graph (`compilation.graphs.Watcher`)."""
        stage = self._stage
        self._enter("compile")
        self._graph = (target, self._since)
        self.emit(Compiling(target, self.request.preset))
        try:
            yield
        finally:
            self._graph = None
            self._enter(stage)
