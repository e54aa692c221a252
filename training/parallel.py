"""Two training processes that now and then average their weights.

On a CPU, two single-threaded processes with a batch each are faster than one process with two threads. They
take a few steps apart, then average (local SGD): less traffic than averaging every gradient.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parameter import Parameter


class Team:
    """This process and its peers."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self._parent = os.getppid()

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def average(self, parameters: list[Parameter]) -> None:
        """Replace the parameters by their mean over the processes."""
        if self.size == 1:
            return
        with torch.no_grad():
            flat = torch.cat([parameter.reshape(-1) for parameter in parameters])
            dist.all_reduce(flat)
            flat /= self.size
            offset = 0
            for parameter in parameters:
                count = parameter.numel()
                parameter.copy_(flat[offset : offset + count].view_as(parameter))
                offset += count

    def agree(self, wish: bool) -> bool:
        """The leader's wish to stop, known to everybody: all stop at the same step."""
        if self.size == 1:
            return wish
        orphaned = os.getppid() != self._parent  # the program was killed: nobody waits for the result
        flag = torch.tensor([float(wish or orphaned)])
        dist.broadcast(flag, src=0)
        return bool(flag.item())


def run_team(work: Callable[..., None], size: int, *arguments: Any) -> None:
    """Call `work(team, *arguments)` in `size` processes; in this one if `size` is one."""
    if size == 1:
        work(Team(0, 1), *arguments)
        return
    # Peers talk over the loopback device; else gloo looks up the machine's name and may not find it.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(_member, (size, f"file://{folder}/rendezvous", work, arguments), nprocs=size)


def _member(rank: int, size: int, meeting: str, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=size)
    try:
        work(Team(rank, size), *arguments)
    finally:
        dist.destroy_process_group()
