"""PipelineManager: loads a pipeline, keeps it busy with one request at a time, and tells the truth about it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from accel_ui.backends import BACKENDS
from accel_ui.cache import tidy
from accel_ui.compilation.ledger import Ledger
from accel_ui.environment import ensure_folder, prepare_environment
from accel_ui.errors import UserError
from accel_ui.history import History
from accel_ui.jobs import Job
from accel_ui.metrics import Metrics
from accel_ui.presets import Preset
from accel_ui.privacy import public
from accel_ui.report import versions
from accel_ui.requests import Event, Failed, GenerationRequest, GenerationResult, RequestError
from accel_ui.settings import Settings, variable_name
from accel_ui.status import Readiness, RunLog, plan_facts
from accel_ui.warming import Warming
from accel_ui.worker import CLOSING, Worker

if TYPE_CHECKING:
    from accel_ui.engine import Engine
    from accel_ui.runner import Runner
    from accel_ui.survey import Survey

log = logging.getLogger(__name__)

Phase = Literal["loading", "ready", "failed", "closing"]
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
        self.history = History(settings.output_dir, settings.max_output_gb * 1e9)
        self.metrics = Metrics(self._facts, lambda: self.ledger.entries)
        self._phase: Phase = "loading"
        self._reason = "starting"
        self._engine: Engine | None = None
        self._runner: Runner | None = None
        self._started, self._loaded = False, threading.Event()
        self._runs = RunLog()
        self._warming: Warming | None = None
        self._worker = Worker(self._run, settings.max_queue, settings.max_per_client)
        try:
            self._presets = known_presets(settings, resolve_model(settings.model).known) or ()
        except UserError as error:
            self._presets = ()
            self._fail(str(error))

    # Life

    @property
    def can_retry(self) -> bool:
        """Whether :meth:`retry` may help."""
        return self._phase == "failed"

    @property
    def loads_before_serving(self) -> bool:
        """Whether :meth:`start` belongs before the port is opened, in the program's first thread: it loads there."""
        return any(backend.loads_before_serving for backend in BACKENDS)

    def start(self) -> None:
        """Begins to load, in the background where the device allows it. A second call does nothing."""
        if not self._started:
            self._started = True
            if self._phase == "failed":  # known already; `retry` looks again
                self._loaded.set()
                self._worker.release()
            elif self.loads_before_serving:
                self._load()
            else:
                self._worker.do(self._load)
            self._worker.start()

    def retry(self) -> None:
        """Loads again after a failure, once its cause is gone."""
        if self.can_retry:
            self._enter("loading", "trying again")
            self._loaded.clear()
            self._worker.do(self._load)

    def wait_until_loaded(self, timeout: float | None = None) -> bool:
        """Waits for the end of loading, good or bad; False when `timeout` seconds were not enough."""
        return self._loaded.wait(timeout)

    def drain(self) -> bool:
        """Refuses new requests and waiting ones, gives the running one its time (ACCEL_UI_GRACE), and closes.

        Returns:
            whether a run was still to be finished: somebody may be about to fetch its picture.
        """
        self._enter("closing", "the server is shutting down")
        finished = self._worker.drain(self.settings.grace)
        self.close()
        return finished

    def close(self) -> None:
        """Stops the running request, refuses new ones, ends the background compilation."""
        self._enter("closing", "the server is shutting down")
        if self._warming:
            self._warming.close()
        self._worker.close()

    def _enter(self, phase: Phase, reason: str) -> None:
        if self._phase != "closing":  # which is for good
            self._phase, self._reason = phase, reason

    def _fail(self, reason: str) -> None:
        self._enter("failed", reason)
        log.error("%s", reason)

    def _load(self) -> None:
        """The recipe: look, decide, load, prepare, warm up."""
        started = time.perf_counter()
        try:
            self._enter("loading", "looking at the folders")
            ensure_folder(self.settings.cache_dir, variable_name("cache_dir"))
            ensure_folder(self.settings.output_dir, variable_name("output_dir"))
            tidy(self.settings.cache_dir, self.settings.max_cache_gb * 1e9)
            self._enter("loading", "importing torch and diffusers")
            from accel_ui.runner import Runner

            self._enter("loading", f"reading the headers of {self.settings.model}")
            plan = self._survey()
            for decision in plan.decisions:
                log.info("%s", decision)
            self._enter("loading", f"loading the weights of {self.settings.model}")
            engine = self._build(plan)
            if engine.compiles:
                self._enter("loading", "loading kept graphs")
                for preset in engine.presets:
                    engine.graphs.load(preset)
            self._engine, self._presets = engine, tuple(engine.presets.values())
            self._warming = Warming(
                engine, self._worker, self.settings, self._run, self._warm_up_job, give_up=self._give_up
            )
            self._runner = Runner(
                engine, self._draw, self._warming, self.history, self.metrics, self._runs, self._lose,
                self.settings.log_prompts,
            )  # fmt: skip
            self._enter("ready", f"loaded in {time.perf_counter() - started:.1f} s")
            log.info("%s is %s", self.settings.model, self._reason)
            self._warming.begin()
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
        return self._warming.state(preset) if self._engine else (self._phase, self._reason)

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
        try:
            if not self._presets:
                raise RequestError(self._not_ready(), "not_loaded")
            preset = next(iter(self.presets)) if preset is None else preset
            return GenerationRequest.checked(prompt, preset, seed, negative_prompt, presets=self.presets)
        except RequestError as error:
            self.metrics.refused(error.kind)
            raise

    def submit(self, request: GenerationRequest, client: str = "") -> Job:
        """Queues `request`; read the job's events.

        Args:
            client: who asks: clients take turns, and each has its share of the queue.

        Raises:
            RequestError: unknown preset, full queue, failed model.
        """
        try:
            if self._phase in ("failed", "closing"):
                raise RequestError(self._not_ready(), "closing" if self._phase == "closing" else "not_loaded")
            if request.preset not in self.presets:
                raise RequestError(f"There is no preset {request.preset!r}: choose one of {', '.join(self.presets)}.")
            job = Job(request, self._waits_for, self.settings.time_limit, client=client)
            self._worker.submit(job)
        except RequestError as error:
            self.metrics.refused(error.kind)
            raise
        return job

    def generate(self, request: GenerationRequest, client: str = "") -> Iterator[Event]:
        """Makes the pictures of `request`: a stream of events that ends with Done or Failed.

        Closing the stream stops the run. Refusals come as a Failed event too.
        """
        try:
            job = self.submit(request, client)
        except RequestError as error:
            yield Failed(str(error), refused=True)
            return
        yield from job.events()

    def compile_soon(self, preset: str | None) -> str:
        """Compiles `preset` when the machine is idle; returns what happens now, in words."""
        if self._engine is None:
            return self._not_ready()
        if preset not in self.presets:
            return f"There is no preset {preset!r}."
        state, why = self.preset_state(preset)
        if state != "cold":
            return f"{preset} is {state}: {why}."
        self._warming.request(preset)
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
        return self._worker.ahead_of(job), "" if self._loaded.is_set() else f"the model: {public(self._reason)}"

    def _not_ready(self) -> str:
        if self._phase == "loading":
            return f"The model is not loaded yet ({public(self._reason)}): try again in a moment."
        return public(self._reason) if self._phase == "failed" else CLOSING

    # In the worker's thread; `distributed.leader` does the next four in all ranks

    def _survey(self) -> Survey:
        from accel_ui.survey import survey

        return survey(self.settings)

    def _build(self, plan: Survey) -> Engine:
        from accel_ui.engine import build_engine

        return build_engine(plan, self.settings, self.ledger)

    def _draw(self, job: Job, may_compile: bool) -> GenerationResult:
        return self._engine.survey.backend.runner(self._engine)(job, may_compile=may_compile)

    def _give_up(self, preset: str, why: str) -> None:
        self._engine.graphs.give_up(preset, why)

    def _run(self, job: Job) -> None:
        if self._runner is None:
            job.refuse(self._not_ready())
        else:
            self._runner.run(job)

    def _lose(self, reason: str) -> None:
        """The device is gone: nothing can run until a new process opens it."""
        self._runner = self._engine = None
        self._fail(reason)

    # Truth

    @property
    def reason(self) -> str:
        """Why the manager is in its phase, whole: for the owner's eyes."""
        return self._reason

    def readiness(self) -> Readiness:
        """Whether the default preset answers at once, and if not, why."""
        if self._phase != "ready" or self._engine is None:
            return Readiness(False, self._phase, public(self._reason))
        preset = next(iter(self.presets))
        state, why = self.preset_state(preset)
        eager_meanwhile = self._engine.survey.cold == "eager"
        if state in ("ready", "eager") or eager_meanwhile:
            return Readiness(True, "ready", f"{preset}: {state}")
        return Readiness(False, "warming", public(f"{preset} is {state}: {why}"))

    def status(self) -> dict[str, Any]:
        """What the page, `status()` and `/metrics` show; plain data that any visitor may read."""
        facts = {
            "phase": self._phase,
            "reason": self._reason,
            "model": self.settings.model,
            **plan_facts(self._engine.survey if self._engine else None),
            "presets": [self._preset_row(preset) for preset in self._presets],
            "ledger": self.ledger.rows(),
            "graphs_compiled": self.ledger.graphs,
            **self._runs.facts(),
            "versions": versions(),
            "waiting": self._worker.waiting,
        }
        return public(facts)

    def _facts(self) -> dict[str, Any]:
        """What the metrics are made of besides their counters."""
        counts = self._engine.prompts.counts if self._engine else {}
        ready, running = self.readiness().ready, self._worker.running is not None
        return {**self.status(), "ready": ready, "running": int(running), "prompts": counts}

    def _preset_row(self, preset: Preset) -> dict[str, Any]:
        state, why = self.preset_state(preset.id)
        return {**vars(preset), "state": state, "why": why, "negative_prompt": self.uses_negative_prompt(preset.id)}
