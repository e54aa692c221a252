"""Puts XLA's CPU plugin behind the real `torch_tpu` package: the TPU stack with only the chip replaced.

torch_tpu talks to its device through one PJRT plugin, which it finds by TPU_LIBRARY_PATH. XLA's own CPU plugin
(package `lammps-jax-pjrt-cpu`) speaks the same C API, so autoloading, eager dispatch, `torch.compile`, StableHLO,
XLA's compilation and the compilation caches are the real ones. Replaced are: two entries of the plugin's function
table, the number of chips found on the PCI bus, and attention, whose kernels (Mosaic) need a TPU.

    python tests/tpu/tpu_on_cpu.py -m accel_ui doctor    # any command of the app on this device
    import tpu_on_cpu; tpu_on_cpu.install()              # before anything imports torch
"""

from __future__ import annotations

import ctypes
import importlib.abc
import importlib.machinery
import importlib.util
import mmap
import os
import runpy
import sys
from pathlib import Path

# Positions in the PJRT_Api function table (append-only, xla/pjrt/c/pjrt_c_api.h), after 40 bytes of header.
CLIENT_CREATE, HEADER_BYTES = 10, 40
PROT_READ_WRITE = 3
HARDWARE = "torch_tpu._internal.utils.hardware"

_keep_alive: list = []  # ctypes callbacks die with their last reference


class _ClientCreateArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("create_options", ctypes.c_void_p),
        ("num_options", ctypes.c_size_t),
    ]


def install() -> None:
    """Makes the next `import torch` find one TPU chip."""
    # The plugin splits large programs among threads, and a program read back from disk lacks some of the parts
    # ("Function transpose_copy_fusion.49 not found"): XLA's CPU compiler alone does this.
    os.environ["XLA_FLAGS"] = "--xla_cpu_parallel_codegen_split_count=1"
    os.environ["TPU_LIBRARY_PATH"] = str(_plugin())
    library = ctypes.CDLL(os.environ["TPU_LIBRARY_PATH"], mode=os.RTLD_NOW | os.RTLD_LOCAL)
    library.GetPjrtApi.restype = ctypes.c_void_p
    _keep_alive.append(library)
    _replace(library.GetPjrtApi(), CLIENT_CREATE, _create_without_options)
    sys.meta_path.insert(0, _OneChip())


def _plugin() -> Path:
    spec = importlib.util.find_spec("lammps_jax_pjrt_cpu")
    if spec is None:
        raise RuntimeError("pip install --no-deps lammps-jax-pjrt-cpu==0.11.2")
    return Path(spec.origin).parent / "pjrt_c_api_cpu_plugin.so"


def _replace(api: int, index: int, make) -> None:
    """Puts `make(original)` into slot `index` of the function table at address `api`."""
    address = api + HEADER_BYTES + 8 * index
    page = address // mmap.PAGESIZE * mmap.PAGESIZE
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), PROT_READ_WRITE):
        raise OSError(ctypes.get_errno(), "mprotect of the PJRT function table")
    slot = ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))
    function = make(slot[0])
    _keep_alive.append(function)
    slot[0] = ctypes.cast(function, ctypes.c_void_p).value


def _create_without_options(original: int):
    """The CPU plugin refuses the options that torch_tpu gives a TPU client."""
    prototype = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_ClientCreateArgs))
    call = prototype(original)

    def create(args):
        args.contents.create_options, args.contents.num_options = None, 0
        return call(args)

    return prototype(create)


class _OneChip(importlib.abc.MetaPathFinder):
    """Changes torch_tpu's look at the PCI bus as soon as it is imported, before torch_tpu takes that look."""

    def find_spec(self, name, path, target=None):
        if name != HARDWARE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            module.get_tpu_device_count = lambda: 1
            _compute_attention_op_by_op()

        spec.loader.exec_module = exec_module
        return spec


def _compute_attention_op_by_op() -> None:
    """torch_tpu lowers scaled_dot_product_attention to a Mosaic kernel, which only a TPU can run: take torch's own."""
    import torch

    torch._C._set_sdp_use_overrideable(False)
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)


if __name__ == "__main__":
    _, flag, module, *sys.argv[1:] = sys.argv
    if flag != "-m":
        sys.exit("usage: tpu_on_cpu.py -m MODULE [ARGUMENT ...]")
    sys.path[0] = os.getcwd()
    install()
    runpy.run_module(module, run_name="__main__", alter_sys=True)
