"""The runs of the page's visitors: one at a time for each browser tab, so that Stop knows which."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from accel_ui.jobs import Job
from accel_ui.manager import PipelineManager
from accel_ui.requests import Event, Failed, GenerationRequest, RequestError


class Runs:
    """Jobs by session (one session is one opened page)."""

    def __init__(self, manager: PipelineManager):
        self._manager = manager
        self._jobs: dict[str, Job] = {}
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, session: str) -> Iterator[bool]:
        """True for one handler of a session at a time; False for the others, as when a button is pressed ten times."""
        with self._lock:
            mine = session not in self._busy
            self._busy.add(session)
        try:
            yield mine
        finally:
            if mine:
                with self._lock:
                    self._busy.discard(session)

    def follow(self, request: GenerationRequest, session: str, client: str) -> Iterator[Event]:
        """The events of a run. Closing the iterator, as Gradio does when the visitor leaves, stops it."""
        try:
            job = self._manager.submit(request, client)
        except RequestError as error:
            yield Failed(str(error), refused=True)
            return
        self._jobs[session] = job
        try:
            yield from job.events()
        finally:
            if self._jobs.get(session) is job:
                del self._jobs[session]

    def stop(self, session: str) -> None:
        """Ends the session's run within a step."""
        job = self._jobs.get(session)
        if job:
            job.stop()

    def stopping(self, session: str) -> bool:
        """Whether Stop was pressed and the run goes on for the rest of a step."""
        job = self._jobs.get(session)
        return job is not None and job.stopped
