"""The emulated device's backend for torch.distributed: a process group that runs gloo on the CPU aliases of its tensors.

As the process group of a real device it takes tensors of the device alone; objects need a gloo group of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.utils._pytree import tree_map

from . import device

OPERATIONS = (
    "allgather", "allgather_into_tensor_coalesced", "allreduce", "allreduce_coalesced", "alltoall", "alltoall_base",
    "_allgather_base", "_reduce_scatter_base", "barrier", "broadcast", "gather", "reduce", "reduce_scatter",
    "reduce_scatter_tensor_coalesced", "scatter", "send", "recv",
)  # fmt: skip


class NeuronProcessGroup(dist.ProcessGroup):
    """What ``dist.init_process_group(backend="neuron")`` makes."""

    def __init__(self, store: dist.Store, rank: int, size: int, timeout: timedelta):
        super().__init__(rank, size)
        gloo = dist.ProcessGroupGloo(dist.PrefixStore("gloo", store), rank, size, timeout)
        self._inner = dist.ProcessGroup(store, rank, size)
        self._inner._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
        self._inner._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, gloo)

    def getBackendName(self) -> str:
        return "neuron"

    def getGroupName(self) -> str:
        return dist.distributed_c10d._world.pg_names[self]

    group_name = property(getGroupName)  # torch keeps the name in a C++ backend, and there is none here
    group_desc = property(lambda self: "")


def _on_cpu(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        if value.device.type != "neuron":
            raise RuntimeError(f"the neuron process group takes neuron tensors, not {value.device}")
        return device.to_cpu(value)
    return value


def _operation(name: str) -> Callable:
    def run(self: NeuronProcessGroup, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._inner, name)(*tree_map(_on_cpu, args), **tree_map(_on_cpu, kwargs))

    return run


for _name in OPERATIONS:
    setattr(NeuronProcessGroup, _name, _operation(_name))


def register() -> None:
    """Makes the backend known to this process."""
    dist.Backend.register_backend("neuron", NeuronProcessGroup, devices=["neuron"])
