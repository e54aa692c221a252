"""The ranks of one start, and what they say to each other."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from accel_ui.backends import Backend, choose_backend
from accel_ui.distributed.orders import GONE, RanksLost
from accel_ui.errors import UserError
from accel_ui.loading import LoadError
from accel_ui.settings import Settings
from accel_ui.survey import Machine
from accel_ui.torchrun import Launch

log = logging.getLogger(__name__)

T = TypeVar("T")

# The longest that one rank waits for another: longer than any compilation or download. A rank that died is noticed
# at once, because its connections close; this is for one that lives and never answers in the middle of a run.
PATIENCE = timedelta(hours=2)


class Group:
    """The process groups of one start: one of the device for the model, one of gloo for messages.

    All methods but :meth:`join` are collective: every rank calls them in the same order.

    Attributes:
        rank, size: of this process, and of all.
        mesh: the devices of all ranks, in one dimension.
    """

    def __init__(self, launch: Launch, mesh: DeviceMesh, messages: dist.ProcessGroup):
        self.rank, self.size, self.mesh = launch.rank, launch.size, mesh
        self._messages = messages

    @classmethod
    def join(cls, launch: Launch, backend: Backend, device: str) -> Group:
        """Waits for all ranks of this start.

        Raises:
            LoadError: when the device's process group cannot be made.
        """
        if backend.collectives is None:
            raise LoadError(
                f"torchrun started {launch.size} processes, but a model cannot be divided among devices of the family "
                f"{backend.name}: start one process with `python app.py`."
            )
        backend.use_device(device)
        try:
            store, _, _ = next(dist.rendezvous("env://", launch.rank, launch.size, timeout=PATIENCE))
            # After a restart the store still holds the addresses of the processes that ended.
            store = dist.PrefixStore(f"start-{os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)
            dist.init_process_group(
                backend.collectives, store=store, rank=launch.rank, world_size=launch.size, timeout=PATIENCE
            )
            mesh = DeviceMesh(backend.name, list(range(launch.size)))
            messages = dist.new_group(backend="gloo", timeout=PATIENCE)
        except (RuntimeError, ValueError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
            raise LoadError(
                f"The {launch.size} processes of torchrun cannot join on {backend.name}: {reason}"
            ) from error
        return cls(launch, mesh, messages)

    def tell(self, message: Any = None) -> Any:
        """Rank 0 gives a message, which every rank gets.

        Raises:
            RanksLost
        """
        box = [message]
        self._run(lambda: dist.broadcast_object_list(box, 0, group=self._messages))
        return box[0]

    def gather(self, value: T) -> list[T]:
        """What every rank gave, by rank.

        Raises:
            RanksLost
        """
        values: list[Any] = [None] * self.size
        self._run(lambda: dist.all_gather_object(values, value, group=self._messages))
        return values

    def decide(self, choice: bool) -> bool:
        """Rank 0's choice, in every rank. Cheap enough for each step of a run (0.3 ms).

        Raises:
            RanksLost
        """
        flag = torch.tensor([choice], dtype=torch.uint8)
        self._run(lambda: dist.broadcast(flag, 0, group=self._messages))
        return bool(flag.item())

    def unanimous(self, work: Callable[[], T]) -> T:
        """What `work` returns, if it works in every rank.

        Raises:
            UserError: in every rank, when it failed in one.
            RanksLost
        """
        result, error = None, None
        try:
            result = work()
        except Exception as failure:
            error = failure
        known = str(error) if isinstance(error, UserError) else error and f"it failed ({type(error).__name__})"
        problems = self.gather(known)
        if error is not None:
            raise error
        for rank, problem in enumerate(problems):
            if problem:
                raise LoadError(f"Rank {rank} of {self.size}: {problem}")
        return result

    @staticmethod
    def _run(collective: Callable[[], Any]) -> None:
        try:
            collective()
        except RuntimeError as error:
            log.error("A message between the ranks failed: %s", str(error).splitlines()[0])
            raise RanksLost(GONE) from error


def meet(launch: Launch, settings: Settings) -> tuple[Group, Machine]:
    """Joins the other ranks; returns the group, and the machine as the smallest of its devices shows it.

    Raises:
        DeviceNotFound, LoadError: in words; the ranks have not met.
        RanksLost
    """
    backend, detection, decision = choose_backend(settings.device)
    group = Group.join(launch, backend, detection.device)
    smallest = min(group.gather(detection.memory))  # every rank must come to the same plan
    return group, (backend, replace(detection, memory=smallest), decision)
