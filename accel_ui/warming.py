"""Graphs for cold presets, made outside the visitors' requests: after loading, when asked for, when idle."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from accel_ui.background import BackgroundCompiler
from accel_ui.jobs import Job
from accel_ui.requests import Failed
from accel_ui.settings import Settings, as_environment, variable_name
from accel_ui.worker import Worker

if TYPE_CHECKING:
    from accel_ui.engine import Engine


class Warming:
    """Decides when a preset is compiled, and says how far that is.

    Args:
        run: makes the pictures of a job, in the accelerator's thread.
        warm_up_job: a job that compiles what a preset lacks.
        give_up: called with a preset and the reason when its graphs cannot be made.
    """

    def __init__(
        self,
        engine: Engine,
        worker: Worker,
        settings: Settings,
        run: Callable[[Job], None],
        warm_up_job: Callable[[str], Job],
        give_up: Callable[[str, str], None],
    ):
        self._engine, self._worker, self._settings = engine, worker, settings
        self._run, self._warm_up_job = run, warm_up_job
        self._background = BackgroundCompiler(
            may_spawn=engine.fits_twice,
            environment=as_environment(settings) | {variable_name("warmup"): "none"},
            load=lambda preset: worker.do(self._load_kept),
            give_up=lambda preset, why: worker.do(lambda: give_up(preset, why)),
            compile_here=self._compile_when_idle,
            limit=settings.compile_limit,
        )

    def begin(self) -> None:
        """What ACCEL_UI_WARMUP asks for."""
        presets = list(self._engine.presets)
        for preset in {"none": [], "default": presets[:1], "all": presets}[self._settings.warmup]:
            if self._engine.compiles and self._engine.graphs.state(preset).state == "cold":
                self._background.request(preset)

    def request(self, preset: str) -> None:
        """Compiles `preset` soon. Asking again does nothing."""
        self._background.request(preset)

    def state(self, preset: str) -> tuple[str, str]:
        """``compiling``, ``ready``, ``cold`` or ``eager``; and the reason in words."""
        job = self._worker.running
        making = job.graph_in_the_making if job and job.request.preset == preset else None
        if making:
            return "compiling", f"{making[0]}, {making[1]:.0f} s so far"
        state = self._engine.graphs.state(preset)
        if state.state == "cold":
            seconds = self._background.elapsed(preset)
            if seconds is not None:
                return "compiling", f"in the background, {seconds:.0f} s so far; runs eagerly meanwhile"
            if self._background.waiting(preset):
                return "cold", "waits for its background compilation; runs eagerly meanwhile"
        return state.state, state.why

    def close(self) -> None:
        """Ends what is being compiled in another process."""
        self._background.close()

    def _load_kept(self) -> None:
        """What was made for one preset serves all of equal shapes."""
        for preset in self._engine.presets:
            self._engine.graphs.load(preset)

    def _compile_when_idle(self, preset: str) -> None:
        """Blocks the caller, never the accelerator's thread, until `preset` is compiled or cannot be."""
        job = self._warm_up_job(preset)
        self._worker.do_when_idle(lambda: self._run(job))
        *_, last = job.events()
        if isinstance(last, Failed):
            raise RuntimeError(last.reason)
