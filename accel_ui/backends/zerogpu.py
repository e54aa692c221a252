"""ZeroGPU: hardware of Hugging Face Spaces that lends a GPU to each run, for seconds.

What the package `spaces`, which every Space has, does for it: weights that the program's first thread moves to `cuda`
before the page is served are put aside, without any GPU. A call of a function decorated with `spaces.GPU` waits for
one; the function runs in a process forked for it, where CUDA is real and the weights are there, and what it yields
comes back pickled.
"""

from __future__ import annotations

import logging
import math
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from contextvars import Context
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from accel_ui.backends.base import Detection
from accel_ui.backends.cuda import CudaBackend
from accel_ui.errors import UserError

if TYPE_CHECKING:
    from accel_ui.engine import Engine
    from accel_ui.jobs import Job
    from accel_ui.preview import Preview
    from accel_ui.requests import Event, GenerationRequest, GenerationResult

log = logging.getLogger(__name__)

FIRST_DURATION = 60  # seconds to ask for while nothing is known about a preset: ZeroGPU's own default
MOVING_WEIGHTS = 10  # seconds to ask for beside the run's


def on_zerogpu() -> bool:
    """Whether this is a ZeroGPU Space, as `spaces` itself finds out."""
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")


class ZeroGpuError(UserError):
    """ZeroGPU has no GPU for this visitor, or took it back; the message is its own."""


@dataclass(frozen=True)
class Ended:
    """The last thing that comes out of the process with the GPU.

    Attributes:
        outcome: the result, or what the engine raised.
        preview: what the thumbnails have learned there.
    """

    outcome: GenerationResult | Exception
    preview: Preview


class ZeroGpuBackend(CudaBackend):
    """cuda, with the engine's runs in another process."""

    loads_before_serving = True
    shares_with_child = False
    offloads = False

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._slowest: dict[str, float] = {}  # seconds, by preset

    @cached_property
    def _on_gpu(self) -> Callable[[GenerationRequest, Preview], Iterator[Event | Ended]]:
        import spaces

        return spaces.GPU(duration=self._duration)(self._draw)

    def detect(self) -> Detection:
        try:
            # Before torch uses CUDA, which `spaces` emulates. A Space without a decorated function is ended.
            assert self._on_gpu
        except ImportError as error:
            return Detection(False, f"this is a ZeroGPU Space, but its package `spaces` is missing ({error})")
        found = super().detect()
        return replace(found, reason=f"ZeroGPU lends a GPU to each run: {found.reason}")

    def compile_obstacle(self) -> str | None:
        return "ZeroGPU lends the GPU to a process that lives for a run or a few, where torch.compile is not supported"

    def memory_in_use(self) -> int | None:
        return None  # this process has none

    def runner(self, engine: Engine) -> Callable[..., GenerationResult]:
        self._engine = engine
        return self._run

    def _run(self, job: Job, *, may_compile: bool) -> GenerationResult:
        """`engine.run`, where the GPU is. Stop is heeded at each event, a few a second.

        Raises:
            Stopped, ZeroGpuError, and whatever the engine raises there.
        """
        events = _in_context(job.context, self._on_gpu(job.request, self._engine.preview))
        try:
            for last in events:
                if not isinstance(last, Ended):
                    job.emit(last)
                    job.check()
        finally:
            events.close()
        self._engine.preview, result = last.preview, last.outcome
        if isinstance(result, Exception):
            raise result
        preset, seconds = job.request.preset, result.timings.total
        self._slowest[preset] = max(seconds, self._slowest.get(preset, 0.0))
        return replace(result, timings=replace(result.timings, queue=job.timings().total - seconds))

    def _duration(self, request: GenerationRequest, preview: Preview) -> int:
        """Seconds of GPU to ask for: what is asked for counts against the visitor's quota, and puts him back in line."""
        slowest = self._slowest.get(request.preset)
        return FIRST_DURATION if slowest is None else math.ceil(2 * slowest) + MOVING_WEIGHTS

    def _draw(self, request: GenerationRequest, preview: Preview) -> Iterator[Event | Ended]:
        """Runs in the process that has the GPU. Closing the iterator ends the run within a step."""
        from accel_ui.jobs import Job
        from accel_ui.requests import Done, Failed

        engine, job = self._engine, Job(request, waits_for=lambda job: (0, ""), time_limit=math.inf)
        engine.preview = preview
        outcomes: list[GenerationResult | Exception] = []

        def run() -> None:
            try:
                job.begin(engine.denoiser, self.synchronize)
                outcomes.append(engine.run(job, may_compile=False))
                job.emit(Done(outcomes[0]))
            except Exception as error:
                outcomes.append(_picklable(error))
                job.emit(Failed(str(error)))

        thread = threading.Thread(target=run, name="lent-gpu")
        thread.start()
        try:
            for event in job.events():
                if not isinstance(event, (Done, Failed)):
                    yield event
        finally:
            job.stop()
            thread.join()
        yield Ended(outcomes[0], engine.preview)


def _in_context(context: Context, events: Iterator[Any]) -> Iterator[Any]:
    """`events`, each made in the visitor's context, where `spaces` finds whose quota a run costs.

    Raises:
        ZeroGpuError: for what `spaces` has to say to the visitor.
    """
    try:
        while (event := context.run(next, events, None)) is not None:
            yield event
    except Exception as error:
        message = getattr(error, "message", None)  # of a gradio.Error; `str` gives the one without HTML
        if message is None:
            raise
        raise ZeroGpuError(f"ZeroGPU: {str(message).rstrip('.')}.") from error
    finally:
        context.run(events.close)


def _picklable(error: Exception) -> Exception:
    """`error`, or one that says the same, for an error that cannot travel between processes."""
    log.info("The run ended early where the GPU is", exc_info=error)
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
