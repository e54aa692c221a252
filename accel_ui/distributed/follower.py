"""The life of every rank but 0: it does what rank 0 tells it, and ends with it."""

from __future__ import annotations

import logging
import math
import signal

from accel_ui.compilation.ledger import Ledger
from accel_ui.distributed.group import Group, meet
from accel_ui.distributed.lockstep import Lockstep
from accel_ui.distributed.orders import GiveUp, Goodbye, Pulse, RanksLost, Run
from accel_ui.engine import Engine, build_engine
from accel_ui.errors import UserError
from accel_ui.jobs import Job, Stopped
from accel_ui.settings import Settings
from accel_ui.survey import Machine, survey
from accel_ui.torchrun import end_with_parent, launch, leave

log = logging.getLogger(__name__)


def follow(settings: Settings) -> int:
    """Follows rank 0 until it says goodbye; returns the exit code."""
    here = launch()
    logging.basicConfig(
        level=logging.INFO, format=f"%(asctime)s rank {here.rank} %(levelname)s %(message)s", force=True
    )
    end_with_parent(signal.SIGKILL)
    ledger = Ledger()
    try:
        group, machine = meet(here, settings)
        # Ctrl-C reaches all processes, and torchrun sends SIGTERM to all: rank 0 alone decides how a run ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        lockstep = Lockstep(group, ledger, give_up=_end)
        _obey(lockstep, _load(group, machine, settings, ledger))
    except UserError as error:
        log.error("%s", error)
        return 1
    return 0


def _end(reason: str) -> None:
    log.error("%s", reason)
    leave(1)


def _load(group: Group, machine: Machine, settings: Settings, ledger: Ledger) -> Engine | None:
    """The engine; None when it cannot be loaded, of which rank 0 tells the users."""
    settings = settings.model_copy(update={"preview_every": 0})
    try:
        plan = group.unanimous(lambda: survey(settings, machine))
        return group.unanimous(lambda: build_engine(plan, settings, ledger, group.mesh))
    except RanksLost:
        raise
    except Exception as error:
        log.error("Loading failed: %s", error, exc_info=None if isinstance(error, UserError) else error)
        return None


def _obey(lockstep: Lockstep, engine: Engine | None) -> None:
    while not isinstance(order := lockstep.group.tell(), Goodbye):
        if isinstance(order, Pulse):
            lockstep.group.gather(None)
        elif isinstance(order, GiveUp):
            engine.graphs.give_up(order.preset, order.why)
        else:
            _run(lockstep, engine, order)
    lockstep.group.gather(None)


def _run(lockstep: Lockstep, engine: Engine, order: Run) -> None:
    job = Job(order.request, lambda job: (0, ""), math.inf, warm_up=order.warm_up)
    job.begin(engine.denoiser, engine.survey.backend.synchronize)
    job.decide_with(lockstep.must_end)
    try:
        lockstep.together(engine, order.request.preset, lambda: engine.run(job, may_compile=order.may_compile))
    except RanksLost:
        raise
    except Stopped:
        pass
    except Exception as error:
        if engine.survey.backend.explain(error):
            engine.prompts.forget()
            engine.survey.backend.release_memory()
