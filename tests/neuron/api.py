"""`torch.neuron` as TorchNeuron documents it (SDK 2.33), for the emulated device.

Sources: AWS's pages on torch-neuronx (memory profiling guide, torch.compile backend reference), and a copy of the
package's source of April 2026. Delete a function from the module to emulate a version that lacks it.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from .device import Machine


def make_torch_neuron(machine: Machine) -> types.ModuleType:
    """The module for `machine`."""

    def is_available() -> bool:
        return bool(machine.cores)

    def is_initialized() -> bool:
        return machine.runtime_error is None

    def device_count() -> int:
        return machine.cores

    def current_device() -> int:
        return 0

    def set_device(device: Any) -> None:
        if torch.device("neuron", device).index >= machine.cores:
            raise ValueError(f"Invalid device id: {device}")

    def get_device_properties(device: Any) -> types.SimpleNamespace:
        machine.start_runtime()
        return types.SimpleNamespace(name="trn2.3xlarge", total_memory=machine.memory)

    def synchronize(device: Any = None) -> None:
        machine.start_runtime()

    def memory_allocated(device: Any = None) -> int:
        return 0  # its tensors are memory of the CPU

    def empty_cache() -> None:
        pass

    def manual_seed_all(seed: int) -> None:
        pass  # the device has no generator of its own

    def get_amp_supported_dtype() -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]

    def _is_in_bad_fork() -> bool:
        return False

    module = types.ModuleType("torch.neuron", __doc__)
    for function in (
        is_available, is_initialized, device_count, current_device, set_device, get_device_properties, synchronize,
        memory_allocated, empty_cache, manual_seed_all, get_amp_supported_dtype, _is_in_bad_fork,
    ):  # fmt: skip
        setattr(module, function.__name__, function)
    return module


#: What a version may lack: torch itself calls the others.
DOCUMENTED = (
    "is_available", "device_count", "current_device", "get_device_properties", "synchronize", "memory_allocated",
    "empty_cache",
)  # fmt: skip
