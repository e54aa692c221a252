"""The one thread that owns the accelerator, and the order in which it takes the requests.

A pipeline and its scheduler hold the state of a run, tokenizers and compilers are not safe to share, and some
settings of torch belong to a thread: so one thread loads, compiles and runs, and everybody else asks it.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable

from accel_ui.jobs import Job
from accel_ui.requests import RequestError

log = logging.getLogger(__name__)


CLOSING = "The server is shutting down: try again in a minute."


class Worker:
    """Runs tasks first, then jobs, the clients taking turns, then idle tasks.

    Args:
        run: makes the pictures of a job; never raises.
        max_waiting: jobs that may wait; one more is refused.
        max_per_client: jobs of one client among them.
    """

    def __init__(self, run: Callable[[Job], None], max_waiting: int, max_per_client: int):
        self._run, self._max_waiting, self._max_per_client = run, max_waiting, max_per_client
        self._tasks: deque[Callable[[], None]] = deque()
        self._jobs: deque[Job] = deque()
        self._idle_tasks: deque[Callable[[], None]] = deque()
        self._running: Job | None = None
        self._last_client: str | None = None
        self._hold = True
        self._closed = self._draining = False
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._loop, name="accelerator", daemon=True)

    def start(self) -> None:
        """Starts the thread; jobs wait until :meth:`release`."""
        self._thread.start()

    def release(self) -> None:
        """Lets the jobs run: the pipeline is there, or it is known that it will not be."""
        with self._change:
            self._hold = False
            self._change.notify_all()

    def submit(self, job: Job) -> None:
        """Queues `job`.

        Raises:
            RequestError: when the queue or the client's share of it is full, or the worker is closed.
        """
        with self._change:
            if self._closed or self._draining:
                raise RequestError(CLOSING, "closing")
            waiting = [other for other in self._jobs if not other.stopped]
            if len(waiting) >= self._max_waiting:
                raise RequestError(
                    f"The queue is full ({len(waiting)} requests are waiting): try again in a moment.", "queue_full"
                )
            mine = sum(other.client == job.client for other in waiting)
            if job.client and mine >= self._max_per_client:
                raise RequestError(
                    f"{mine} of your requests are waiting, which is your share of the queue: wait for one of them.",
                    "client_share",
                )
            self._jobs.append(job)
            self._change.notify_all()

    def _in_turn(self) -> list[Job]:
        """The waiting jobs in the order in which they will run: first one of each client, then the second ones.

        A client whose job runs now, or has just run, has had its first turn.
        """
        turns = Counter() if self._last_client is None else Counter({self._last_client: 1})
        order = []
        for arrival, job in enumerate(self._jobs):
            order.append((turns[job.client], arrival, job))
            turns[job.client] += not job.stopped
        return [job for _, _, job in sorted(order, key=lambda entry: entry[:2])]

    def ahead_of(self, job: Job) -> int:
        """How many jobs run or wait before `job`."""
        with self._change:
            if job is self._running:
                return 0
            jobs = [other for other in self._in_turn() if not other.stopped or other is job]
            return (self._running is not None) + (jobs.index(job) if job in jobs else 0)

    @property
    def waiting(self) -> int:
        """Number of jobs that wait."""
        with self._change:
            return sum(not job.stopped for job in self._jobs)

    @property
    def running(self) -> Job | None:
        """The job that has the accelerator."""
        return self._running

    def do(self, task: Callable[[], None]) -> None:
        """Runs `task` before the next job."""
        with self._change:
            self._tasks.append(task)
            self._change.notify_all()

    def do_when_idle(self, task: Callable[[], None]) -> None:
        """Runs `task` when no job waits."""
        with self._change:
            self._idle_tasks.append(task)
            self._change.notify_all()

    def drain(self, grace: float) -> bool:
        """Refuses new jobs and those that wait, and gives the running one `grace` seconds; True when it needed some."""
        with self._change:
            self._draining = True
            for job in self._jobs:
                job.refuse(CLOSING)
            self._jobs.clear()
            running = self._running
            if running is not None:
                self._change.wait_for(lambda: self._running is not running, grace)
            return running is not None

    def close(self, timeout: float = 10.0) -> None:
        """Stops the running job, drops the rest, and waits for the thread."""
        with self._change:
            self._closed = True
            for job in [*self._jobs, self._running]:
                if job is not None:
                    job.stop()
            self._change.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _next(self) -> Callable[[], None] | None:
        with self._change:
            while True:
                if self._closed:
                    return None
                if self._tasks:
                    return self._tasks.popleft()
                if self._jobs and not self._hold:
                    job = self._in_turn()[0]
                    self._jobs.remove(job)
                    self._running, self._last_client = job, job.client
                    return lambda: self._run(job)
                if self._idle_tasks and not self._hold:
                    return self._idle_tasks.popleft()
                self._change.wait()

    def _loop(self) -> None:
        while (work := self._next()) is not None:
            try:
                work()
            except Exception:
                log.exception("A task of the accelerator's thread failed")
            finally:
                with self._change:
                    self._running = None
                    if not self._jobs:
                        self._last_client = None
                    self._change.notify_all()
