"""The runs of the page's visitors: one at a time for each browser tab, so that Stop knows which."""

from __future__ import annotations

from collections.abc import Iterator

from accel_ui.jobs import Job
from accel_ui.manager import PipelineManager
from accel_ui.requests import Event, Failed, GenerationRequest, RequestError


class Runs:
    """Jobs by session (one session is one opened page)."""

    def __init__(self, manager: PipelineManager):
        self._manager = manager
        self._jobs: dict[str, Job] = {}

    def follow(self, request: GenerationRequest, session: str) -> Iterator[Event]:
        """The events of a run. Closing the iterator, as Gradio does when the visitor leaves, stops it."""
        try:
            job = self._manager.submit(request)
        except RequestError as error:
            yield Failed(str(error))
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
