"""What torchrun says about this process, and the way into `distributed/`, which nothing imports without torchrun."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from accel_ui.manager import PipelineManager
    from accel_ui.settings import Settings

VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclass(frozen=True)
class Launch:
    """This process among those that torchrun started together.

    Attributes:
        rank: its number, from 0; rank 0 serves the page.
        size: how many there are; 1 without torchrun.
        local_rank: its number among those of this machine, which chooses its device.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0

    @property
    def parallel(self) -> bool:
        """Whether several processes make each picture together."""
        return self.size > 1


def launch() -> Launch:
    """Read from the variables that torchrun sets, all or none: some machines set WORLD_SIZE on their own."""
    if any(name not in os.environ for name in VARIABLES):
        return Launch()
    return Launch(*(int(os.environ[name]) for name in VARIABLES))


def follow_rank_0(settings: Settings) -> None:
    """In rank 0, and without torchrun, returns at once. In other ranks follows rank 0 and ends the process."""
    if launch().rank:
        from accel_ui.distributed.follower import follow

        leave(follow(settings))


def open_manager(settings: Settings) -> PipelineManager:
    """The manager of a process that serves: under torchrun, it leads the other ranks."""
    if launch().parallel:
        from accel_ui.distributed.leader import LeadingManager

        return LeadingManager(settings)
    from accel_ui.manager import PipelineManager

    return PipelineManager(settings)


def end_with_parent(number: int) -> None:
    """Asks Linux for the signal `number` when torchrun dies, which otherwise leaves its processes behind."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)


def leave(code: int) -> NoReturn:
    """Ends the process. Under torchrun at once: the threads of process groups abort a slow end now and then."""
    if launch().parallel:
        import logging

        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
