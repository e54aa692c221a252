"""An emulated "neuron" device: real PrivateUse1 tensors that live in CPU memory. Pure Python, no compiler.

    from neuron import device
    device.install()
    torch.ones(2, device="neuron") + 1

How it works. A tensor changes between "cpu" and "neuron" without a copy, through DLPack: what DLPack calls an
extension device is PrivateUse1 in torch. One fallback kernel runs every operator on the CPU aliases of its
arguments, and gives its results the neuron device again. No tensor subclass is involved, so Dynamo, `module.to`,
`state_dict` and safetensors treat these tensors as those of any other device.

What it keeps of the hardware: mixing with CPU tensors raises, float64 is refused, random generators live on the
CPU, a machine has so many logical cores with so much memory, and the first use of a core starts the runtime,
which can fail. What it cannot show: speed, numerics of the NeuronCore, the real compiler, asynchronous execution.

Set TORCH_DEVICE_BACKEND_AUTOLOAD=0 before torch is imported where another such device (torch_tpu) is installed:
a process can hold one.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
from torch.utils.dlpack import from_dlpack, to_dlpack

from .api import make_torch_neuron

aten = torch.ops.aten
DLPACK_CPU, DLPACK_EXTENSION = 1, 12
CPU_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
REFUSED_DTYPES = {torch.float64, torch.complex128}
# Operators whose result depends on values: the host waits for the device to hand them over.
READS = {
    aten._local_scalar_dense.default,
    aten.equal.default,
    aten.is_nonzero.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten._unique2.default,
}

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


@dataclass
class Machine:
    """The emulated machine, and what was done with it.

    Attributes:
        cores: logical NeuronCores; 0 is a machine without any.
        memory: bytes of HBM of each core.
        runtime_error: what starting the runtime raises, as when another process holds the cores.
        reads: how often a value went from the device to the host, by operator.
        dtypes: dtypes of all tensors that were made on the device, or asked for and refused.
    """

    cores: int = 1
    memory: int = 24 * 10**9
    runtime_error: str | None = None
    reads: Counter[str] = field(default_factory=Counter)
    dtypes: set[torch.dtype] = field(default_factory=set)

    def start_runtime(self) -> None:
        """What the first use of a core does.

        Raises:
            RuntimeError: with `runtime_error`.
        """
        if self.runtime_error:
            raise RuntimeError(self.runtime_error)


class _Hook(torch._C._acc.PrivateUse1Hooks):
    def is_available(self) -> bool:
        return bool(_machine.cores)

    def has_primary_context(self, index: int) -> bool:
        return True

    def is_built(self) -> bool:
        return True


def install(machine: Machine | None = None) -> Machine:
    """Gives this process the "neuron" device and `torch.neuron`. Call it once, after torch is imported."""
    global _machine, _library, _fallback
    _machine = machine or Machine()
    _setup_privateuseone_for_python_backend("neuron", backend_module=make_torch_neuron(_machine), hook=_Hook())
    _library = torch.library.Library("aten", "IMPL")
    _fallback = torch.library.Library("_", "IMPL")
    _fallback.fallback(_run_on_cpu, "PrivateUse1")
    _register("_copy_from", _copy_from)
    _register("resize_", _resize)
    _register("set_.source_Storage_storage_offset", _set)
    _register("set_.source_Storage", lambda t, storage: _set(t, storage, 0, (storage.nbytes() // t.itemsize,)))
    _library.impl("_copy_from", torch.library.fallthrough_kernel, "Conjugate")  # else endless recursion
    # Operators whose own composite kernels would come before the fallback.
    _register("convolution_overrideable", lambda *args: _run_on_cpu(aten.convolution.default, *args))
    _register("native_group_norm")
    _register("native_layer_norm")
    _register("scaled_dot_product_attention", _attention)
    _patch_torch()
    return _machine


def to_neuron(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as a tensor of the device.

    Raises:
        TypeError: for a dtype that the hardware lacks.
    """
    _machine.start_runtime()
    _machine.dtypes.add(tensor.dtype)
    if tensor.dtype in REFUSED_DTYPES:
        raise TypeError(f"the neuron device does not support {tensor.dtype}")
    return _alias(tensor, DLPACK_EXTENSION)


def to_cpu(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as a CPU tensor."""
    return _alias(tensor, DLPACK_CPU)


def _alias(tensor: torch.Tensor, device_code: int) -> torch.Tensor:
    capsule = to_dlpack(tensor)
    # struct DLTensor { void *data; struct { int32 type; int32 id; } device; ... }
    device = (ctypes.c_int32 * 2).from_address(_capsule_pointer(capsule, b"dltensor") + 8)
    device[:] = device_code, 0
    return from_dlpack(capsule)


def _run_on_cpu(op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Runs any operator that has an argument, or a result, on the device."""
    if op.is_view:  # the CPU kernels of views only make metadata, for any device
        return op.redispatch(CPU_KEYS, *args, **kwargs)
    if op in READS:
        _machine.reads[str(op)] += 1
    originals: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def unwrap(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.device.type == "neuron":
                # An empty tensor can be an out= argument that the kernel will resize.
                cpu = to_cpu(value) if value.numel() else torch.empty(value.shape, dtype=value.dtype)
                originals[id(cpu)] = (cpu, value)
                return cpu
            if value.dim():  # a number on the CPU may be mixed in, as on any device
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two devices, "
                    f"neuron:0 and {value.device}! (when running {op})"
                )
        elif isinstance(value, torch.Generator) and value.device.type != "neuron":
            raise RuntimeError(f"Expected a 'neuron' device type for generator but found '{value.device.type}'")
        elif isinstance(value, torch.device):
            if value.index:
                raise RuntimeError(f"{value} does not exist: the emulation has tensors on neuron:0 alone")
            return torch.device("cpu")
        return value

    def wrap(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in originals:
            return to_neuron(value)
        cpu, original = originals[id(value)]
        if cpu.shape != original.shape:  # a resized out= argument
            _replace(original, cpu)
        return original

    kwargs = {name: _map(unwrap, value) for name, value in kwargs.items()}
    return _map(wrap, op(*_map(unwrap, args), **kwargs))


def _map(function: Callable[[Any], Any], value: Any) -> Any:
    """Operators nest their tensors in lists and tuples alone; torch's own tree_map is several times slower."""
    if isinstance(value, (list, tuple)):
        mapped = [_map(function, item) for item in value]
        return mapped if isinstance(value, list) else tuple(mapped)
    return function(value)


def _register(name: str, kernel: Callable | None = None) -> None:
    packet, _, overload = name.partition(".")
    op = getattr(getattr(aten, packet), overload or "default")
    _library.impl(name, kernel or (lambda *args, **kwargs: _run_on_cpu(op, *args, **kwargs)), "PrivateUse1")


def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    if source.device.type == "neuron":
        if target.device.type != "neuron":
            _machine.reads["copy to the host"] += 1
        source = to_cpu(source).conj() if source.is_conj() else to_cpu(source)
    (to_cpu(target) if target.device.type == "neuron" else target).copy_(source)
    return target


def _set(tensor: torch.Tensor, storage: torch.UntypedStorage, offset: int, size: Any, stride: Any = ()) -> torch.Tensor:
    return aten.set_.source_Storage_storage_offset.redispatch(CPU_KEYS, tensor, storage, offset, size, stride)


def _replace(tensor: torch.Tensor, cpu: torch.Tensor) -> None:
    source = to_neuron(cpu)
    _set(tensor, source.untyped_storage(), source.storage_offset(), source.shape, source.stride())


def _resize(tensor: torch.Tensor, size: Any, *, memory_format: torch.memory_format | None = None) -> torch.Tensor:
    if tuple(size) != tuple(tensor.shape):
        _replace(tensor, torch.empty(size, dtype=tensor.dtype))
    return tensor


def _attention(query, key, value, mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    op = aten.scaled_dot_product_attention.default
    return _run_on_cpu(op, query, key, value, mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)


def _patch_torch() -> None:
    """Two places in torch that take an allocator, or float64, for granted."""
    clone, show = torch.UntypedStorage.clone, torch._tensor_str._str

    def clone_storage(storage: torch.UntypedStorage) -> torch.UntypedStorage:  # by copy.deepcopy
        if storage.device.type != "neuron":
            return clone(storage)
        data = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
        return data.clone().untyped_storage()

    def show_tensor(tensor: torch.Tensor, **options: Any) -> str:  # formats floats in float64
        return (
            f"neuron:0 {show(tensor.cpu(), **options)}" if tensor.device.type == "neuron" else show(tensor, **options)
        )

    torch.UntypedStorage.clone, torch._tensor_str._str = clone_storage, show_tensor
