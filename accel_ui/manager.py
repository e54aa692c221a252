"""PipelineManager: loads a pipeline, keeps it busy with one request at a time, and tells the truth about it."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any, Literal

from accel_ui.background import BackgroundCompiler
from accel_ui.compilation.ledger import Ledger
from accel_ui.environment import ensure_folder, prepare_environment
from accel_ui.errors import UserError
from accel_ui.history import History
from accel_ui.jobs import Job, Stopped
from accel_ui.presets import Preset
from accel_ui.report import versions
from accel_ui.requests import Done, Event, Failed, GenerationRequest, GenerationResult, RequestError
from accel_ui.settings import Settings, as_environment, variable_name
from accel_ui.status import RunLog, plan_facts
from accel_ui.worker import Worker

log = logging.getLogger(__name__)

Phase = Literal["loading", "ready", "failed", "closed"]
WARM_UP_PROMPT = "warm-up"


class PipelineManager:
    """The pipeline, its device, its presets and its graphs behind one small surface.

    Everything that touches the accelerator happens in the worker's thread. :meth:`start` returns at once, and
    requests may come before the model is loaded: they wait for it.

    Args:
        settings: of this process.
    """

    def __init__(self, settings: Settings):
        from accel_ui.loading import resolve_model
        from accel_ui.survey import known_presets

        prepare_environment(settings.cache_dir)
        self.settings = settings
        self.ledger = Ledger()
        self.history = History(settings.output_dir)
        self._phase: Phase = "loading"
        self._reason = "starting"
        self._engine = None
        self._started, self._loaded = False, threading.Event()
        self._run_log = RunLog()
        self._background: BackgroundCompiler | None = None
        self._worker = Worker(self._run, settings.max_queue)
        try:
            self._presets = known_presets(settings, resolve_model(settings.model).known) or ()
        except UserError as error:
            self._presets = ()
            self._fail(str(error))

    # Life

    def start(self) -> None:
        """Begins to load, in the background. A second call does nothing."""
        if not self._started:
            self._started = True
            self._worker.do(self._load)
            self._worker.start()

    def wait_until_loaded(self, timeout: float | None = None) -> bool:
        """Waits for the end of loading, good or bad; False when `timeout` seconds were not enough."""
        return self._loaded.wait(timeout)

    def close(self) -> None:
        """Stops the running request, refuses new ones, ends the background compilation."""
        self._phase, self._reason = "closed", "the server is shutting down"
        if self._background:
            self._background.close()
        self._worker.close()

    def _fail(self, reason: str) -> None:
        self._phase, self._reason = "failed", reason
        log.error("The model is not loaded: %s", reason)

    def _load(self) -> None:
        """The recipe: look, decide, load, prepare, warm up."""
        started = time.perf_counter()
        try:
            if self._phase == "failed":
                return
            ensure_folder(self.settings.cache_dir, variable_name("cache_dir"))
            ensure_folder(self.settings.output_dir, variable_name("output_dir"))
            self._reason = "importing torch and diffusers"
            from accel_ui.engine import build_engine
            from accel_ui.survey import survey

            self._reason = f"reading the headers of {self.settings.model}"
            plan = survey(self.settings)
            for decision in plan.decisions:
                log.info("%s", decision)
            self._reason = f"loading the weights of {self.settings.model}"
            engine = build_engine(plan, self.settings, self.ledger)
            if engine.compiles:
                self._reason = "loading kept graphs"
                for preset in engine.presets:
                    engine.graphs.load(preset)
            self._engine, self._presets = engine, tuple(engine.presets.values())
            self._background = BackgroundCompiler(
                may_spawn=engine.fits_twice,
                environment=as_environment(self.settings) | {variable_name("warmup"): "none"},
                load=lambda preset: self._worker.do(lambda: engine.graphs.load(preset)),
                give_up=lambda preset, why: self._worker.do(lambda: engine.graphs.give_up(preset, why)),
                compile_here=self._compile_when_idle,
            )
            self._phase, self._reason = "ready", f"loaded in {time.perf_counter() - started:.1f} s"
            log.info("%s is %s", self.settings.model, self._reason)
            self._warm_up_as_set()
        except UserError as error:
            self._fail(str(error))
        except Exception as error:
            log.exception("Loading failed")
            self._fail(f"{self.settings.model} cannot be loaded ({type(error).__name__}): the server's log says more.")
        finally:
            self._loaded.set()
            self._worker.release()

    # Presets

    @property
    def presets(self) -> dict[str, Preset]:
        """By id; the first is the default. Empty until an unknown model is loaded."""
        return {preset.id: preset for preset in self._presets}

    def preset_state(self, preset: str) -> tuple[str, str]:
        """``loading``, ``failed``, ``compiling``, ``ready``, ``cold`` or ``eager``; and the reason in words."""
        if self._engine is None:
            return self._phase, self._reason
        job = self._worker.running
        making = job.graph_in_the_making if job and job.request.preset == preset else None
        if making:
            return "compiling", f"{making[0]}, {making[1]:.0f} s so far"
        state = self._engine.graphs.state(preset)
        if state.state == "cold" and self._background:
            seconds = self._background.elapsed(preset)
            if seconds is not None:
                return "compiling", f"in the background, {seconds:.0f} s so far; runs eagerly meanwhile"
            if self._background.waiting(preset):
                return "cold", "waits for its background compilation; runs eagerly meanwhile"
        return state.state, state.why

    def uses_negative_prompt(self, preset: str) -> bool:
        """Whether a negative prompt changes this preset's pictures; False until the model is loaded."""
        return self._engine is not None and self._engine.uses_negative_prompt(preset)

    # Requests

    def request(
        self, prompt: object, preset: object = None, seed: object = "random", negative_prompt: object = ""
    ) -> GenerationRequest:
        """A checked request; `preset` None is the default one.

        Raises:
            RequestError
        """
        if not self._presets:
            raise RequestError(self._not_ready())
        return GenerationRequest.checked(
            prompt, next(iter(self.presets)) if preset is None else preset, seed, negative_prompt, presets=self.presets
        )

    def submit(self, request: GenerationRequest) -> Job:
        """Queues `request`; read the job's events.

        Raises:
            RequestError: unknown preset, full queue, failed model.
        """
        if self._phase in ("failed", "closed"):
            raise RequestError(self._not_ready())
        if request.preset not in self.presets:
            raise RequestError(f"There is no preset {request.preset!r}: choose one of {', '.join(self.presets)}.")
        job = Job(request, self._waits_for, self.settings.time_limit)
        self._worker.submit(job)
        return job

    def generate(self, request: GenerationRequest) -> Iterator[Event]:
        """Makes the pictures of `request`: a stream of events that ends with Done or Failed.

        Closing the stream stops the run. Refusals come as a Failed event too.
        """
        try:
            job = self.submit(request)
        except RequestError as error:
            yield Failed(str(error))
            return
        yield from job.events()

    def compile_soon(self, preset: str | None) -> str:
        """Compiles `preset` when the machine is idle; returns what happens now, in words."""
        if self._engine is None or self._background is None:
            return self._not_ready()
        if preset not in self.presets:
            return f"There is no preset {preset!r}."
        state, why = self.preset_state(preset)
        if state != "cold":
            return f"{preset} is {state}: {why}."
        self._background.request(preset)
        return f"{preset} will be compiled as soon as the machine is idle."

    def warm_up(self, preset: str) -> Iterator[Event]:
        """Compiles what `preset` lacks, by one run whose picture is not kept."""
        job = self._warm_up_job(preset)
        self._worker.submit(job)
        yield from job.events()

    def _warm_up_job(self, preset: str) -> Job:
        request = GenerationRequest(WARM_UP_PROMPT, preset, seed=0)
        return Job(request, self._waits_for, self.settings.time_limit, warm_up=True)

    def _waits_for(self, job: Job) -> tuple[int, str]:
        return self._worker.ahead_of(job), "" if self._loaded.is_set() else f"the model: {self._reason}"

    def _not_ready(self) -> str:
        if self._phase == "loading":
            return f"The model is not loaded yet ({self._reason}): try again in a moment."
        return self._reason if self._phase == "failed" else "The server is shutting down: try again in a minute."

    # In the worker's thread

    def _run(self, job: Job) -> None:
        try:
            if self._engine is None:
                raise RequestError(self._not_ready())
            job.begin(self._engine.denoiser, self._engine.survey.backend.synchronize)
            job.emit(Done(self._make(job)))
        except Stopped as end:
            job.emit(Failed(str(end), stopped=True))
        except Exception as error:
            job.emit(Failed(self._explain(error)))

    def _make(self, job: Job) -> GenerationResult:
        from accel_ui.pictures import save_result

        engine, preset = self._engine, job.request.preset
        may_compile = engine.compiles and (job.warm_up or engine.survey.cold == "compile")
        stays_cold = engine.compiles and not may_compile and engine.graphs.state(preset).state == "cold"
        result = engine.run(job, may_compile=may_compile)
        if job.warm_up:
            return result
        self._run_log.add(result)
        if stays_cold:
            self._background.request(preset)
        owner = job.request.owner
        result = save_result(result, self.history.folder_of(owner))
        self.history.prune(owner, result.paths)
        log.info("%s, seed %d: %.2f s, %s", preset, job.request.seed, result.timings.total, result.mode)
        return result

    def _explain(self, error: Exception) -> str:
        if isinstance(error, UserError):
            return str(error)
        reference = uuid.uuid4().hex[:8]
        log.error("Run failed, reference %s", reference, exc_info=error)
        known = self._engine.survey.backend.explain(error)
        if known:
            self._engine.prompts.forget()
            self._engine.survey.backend.release_memory()
            return known
        return f"The run failed for a reason of the program's own; the server's log has it under {reference}."

    def _compile_when_idle(self, preset: str) -> None:
        """Blocks the caller, never the accelerator's thread, until `preset` is compiled or cannot be."""
        job = self._warm_up_job(preset)
        self._worker.do_when_idle(lambda: self._run(job))
        *_, last = job.events()
        if isinstance(last, Failed):
            raise RuntimeError(last.reason)

    def _warm_up_as_set(self) -> None:
        presets = {"none": [], "default": list(self.presets)[:1], "all": list(self.presets)}[self.settings.warmup]
        for preset in presets:
            if self._engine.compiles and self._engine.graphs.state(preset).state == "cold":
                self._background.request(preset)

    # Truth

    def status(self) -> dict[str, Any]:
        """What the page, `status()` and `doctor` show; plain data."""
        return {
            "phase": self._phase,
            "reason": self._reason,
            "model": self.settings.model,
            **plan_facts(self._engine.survey if self._engine else None),
            "presets": [self._preset_row(preset) for preset in self._presets],
            "ledger": self.ledger.rows(),
            "graphs_compiled": self.ledger.graphs,
            **self._run_log.facts(),
            "versions": versions(),
            "waiting": self._worker.waiting,
        }

    def _preset_row(self, preset: Preset) -> dict[str, Any]:
        state, why = self.preset_state(preset.id)
        return {**vars(preset), "state": state, "why": why, "negative_prompt": self.uses_negative_prompt(preset.id)}
