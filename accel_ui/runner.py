"""Runs the jobs: what happens between a request that has the accelerator and its last event. Imports torch."""

from __future__ import annotations

import gc
import logging
import traceback
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accel_ui.compilation.graphs import GraphRefused
from accel_ui.errors import UserError
from accel_ui.history import History
from accel_ui.jobs import Job, Stopped
from accel_ui.metrics import Metrics
from accel_ui.pictures import save_result
from accel_ui.privacy import public
from accel_ui.requests import Done, Event, Failed, GenerationResult
from accel_ui.status import RunLog
from accel_ui.warming import Warming

if TYPE_CHECKING:
    from accel_ui.engine import Engine

log = logging.getLogger(__name__)


@dataclass
class Runner:
    """Makes the pictures of jobs with a loaded engine; used by the accelerator's thread alone.

    Attributes:
        make: the engine's :meth:`run`, wherever it happens: in another process, or in several.
        warming: gets the cold presets that answered eagerly.
        lost: called with the reason when the device does not answer any more.
        log_prompts: whether the line of a run in the log holds its prompt.
    """

    engine: Engine
    make: Callable[[Job, bool], GenerationResult]
    warming: Warming
    history: History
    metrics: Metrics
    runs: RunLog
    lost: Callable[[str], None]
    log_prompts: bool

    def run(self, job: Job) -> None:
        """Ends with one Done or Failed event, whatever happens."""
        try:
            job.begin(self.engine.denoiser, self.engine.survey.backend.synchronize)
            last: Event = Done(self._make(job))
        except Stopped as end:
            last = Failed(str(end), stopped=True)
        except UserError as error:
            if isinstance(error, GraphRefused):
                self.metrics.refused("second_graph")
            last = Failed(public(str(error)))
        except Exception as error:
            last = Failed(public(self._explain(error)))
            traceback.clear_frames(error.__traceback__)  # they hold what filled the device
            self._free()
        if not job.warm_up:
            self._account(job, last)
        job.emit(last)

    def _make(self, job: Job) -> GenerationResult:
        engine, preset, owner = self.engine, job.request.preset, job.request.owner
        if engine.compiles:
            engine.graphs.load(preset)  # made since for a preset of equal shapes, or by another process
        may_compile = engine.compiles and (job.warm_up or engine.survey.cold == "compile")
        stays_cold = engine.compiles and not may_compile and engine.graphs.state(preset).state == "cold"
        result = self.make(job, may_compile)
        if job.warm_up:
            return result
        if stays_cold:
            self.warming.request(preset)
        result = save_result(result, self.history.folder_of(owner))
        self.history.prune(owner, result.paths)
        return result

    def _explain(self, error: Exception) -> str:
        """What went wrong, in a sentence; the log has the rest."""
        reference = uuid.uuid4().hex[:8]
        log.error("Run failed, reference %s", reference, exc_info=error)
        backend = self.engine.survey.backend
        known = backend.explain(error)
        if known:
            return known
        silent = backend.silence(self.engine.survey.detection.device)
        if silent:
            reason = f"{self.engine.survey.detection.name} does not answer any more ({silent}): restart Accel UI."
            self.lost(reason)
            return reason
        return f"The run failed for a reason of the program's own; the server's log has it under {reference}."

    def _free(self) -> None:
        """Gives back what a failed run left on the device."""
        self.engine.prompts.forget()
        gc.collect()
        try:
            self.engine.survey.backend.release_memory()
        except Exception:  # a lost device fails here too
            log.warning("The device's memory could not be given back", exc_info=True)

    def _account(self, job: Job, last: Event) -> None:
        """The metrics, the last runs and one line in the log."""
        outcome = "done" if isinstance(last, Done) else "stopped" if last.stopped else "failed"
        self.metrics.ended(job.request.preset, outcome)
        facts: dict[str, Any] = {"outcome": outcome, "preset": job.request.preset, "seed": job.request.seed}
        if isinstance(last, Done):
            self.metrics.took(last.result)
            self.runs.add(last.result)
            info = last.result.info()
            facts |= {name: info[name] for name in ("mode", "graphs_compiled")}
            facts |= {f"{stage}_s": seconds for stage, seconds in info["timings"].items()}
        else:
            facts |= {f"{stage}_s": round(seconds, 4) for stage, seconds in vars(job.timings()).items()}
            facts["reason"] = last.reason
        if self.log_prompts:
            facts["prompt"] = job.request.prompt
        log.info("run", extra={"facts": facts})
