"""AWS Trainium 2 and 3, through TorchNeuron: torch's native device `neuron` (package torch_neuronx 2.13 or newer).

The package is a beta whose functions come and go, so each of its functions is called through :func:`ask`.
"""

from __future__ import annotations

import importlib
import os
from importlib import metadata, util
from pathlib import Path
from typing import Any

from accel_ui.backends.base import Backend, Detection

PACKAGE = "torch_neuronx"
INSTALL = "install TorchNeuron from AWS's own package index (https://awsdocs-neuron.readthedocs-hosted.com)"
# A logical core of Trn2 (LNC=2) has 24 GB, one of Trn3 has more: the smallest, for a package that does not say.
SMALLEST_CORE = 24 * 10**9

# What TorchNeuron and the runtime below it write when the cores cannot be had, and when their memory is full.
CORES_HELD = ("initialize Neuron Runtime", "nrt_init", "nrt_allocate_neuron_cores", "NeuronCore(s) not available")
MEMORY_FULL = ("Neuron OOM", "NRT_RESOURCE", "out of memory")


def ask(function: str, *args: Any, default: Any = None) -> Any:
    """`torch.neuron.<function>(*args)`, or `default` where this version of the package lacks it.

    Raises:
        RuntimeError: the device's own errors pass.
    """
    import torch

    try:
        return getattr(torch.neuron, function)(*args)
    except (AttributeError, NotImplementedError, TypeError):  # absent, a stub, or with other arguments
        return default


class NeuronBackend(Backend):
    name = "neuron"
    compiler = "neuron"
    # Its compiler keeps what it made in the NEFF cache; whether it can write a graph to a file is not known.
    keeps_artifacts = False
    eager_at_once = False
    collectives = "neuron"

    def environment(self, cache_dir: Path) -> dict[str, str]:
        if util.find_spec(PACKAGE) is None:
            return {}  # the last variable would slow down loading on other devices
        return {
            "TORCH_NEURONX_NEFF_CACHE_DIR": str(cache_dir / "neff"),  # the default is cleared on reboot
            # A graph that fails to compile, or an op that fails to run, is an error: the default has changed between
            # versions, and a silent fallback would be reported as a compiled graph.
            "TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION": "1",
            "TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS": "1",
            "HF_DEACTIVATE_ASYNC_LOAD": "1",  # loading weights in threads was reported to hang
        }

    def detect(self) -> Detection:
        try:
            return self._detect()
        except Exception as error:  # a beta package that fails must not keep the CPU from being used
            known = self.explain(error)
            reason = known.rstrip(".") if known else f"the NeuronCores do not answer: {_first_line(error)}"
            return Detection(False, reason)

    def _detect(self) -> Detection:
        missing = _why_missing()
        if missing:
            return Detection(False, missing)
        count, index = ask("device_count", default=1), ask("current_device", default=0)
        # Starts the runtime. Where that fails, is_available would say no more than False; here the error passes.
        properties = ask("get_device_properties", index) if count else None
        if not count or not (ask("is_available", default=True) or _is_current_accelerator()):
            if os.environ.get("NEURON_RT_VISIBLE_CORES") == "":
                return Detection(False, "NEURON_RT_VISIBLE_CORES is empty, so that no NeuronCore can be seen")
            return Detection(False, "TorchNeuron finds no NeuronCore; `neuron-ls` tells more")
        memory = getattr(properties, "total_memory", 0)
        kind = getattr(properties, "name", "") or "Trainium"
        said = f"{memory / 1e9:.1f} GB each" if memory else f"taken to have {SMALLEST_CORE / 1e9:.0f} GB each"
        return Detection(
            True,
            f"{count} logical NeuronCore{'s' if count > 1 else ''} of {kind}, {said}",
            device=f"neuron:{index}",
            name=kind,
            memory=memory or SMALLEST_CORE,
        )

    def best_dtype(self) -> tuple[str, str]:
        return "bfloat16", "native on NeuronCores, with float32's range"

    def compile_obstacle(self) -> str | None:
        import torch

        if self.compiler in torch.compiler.list_backends(exclude_tags=()):
            return None
        return "this version of TorchNeuron brings no compiler for torch.compile"

    def synchronize(self) -> None:
        ask("synchronize")

    def memory_in_use(self) -> int | None:
        try:
            return ask("memory_allocated")
        except RuntimeError:  # the page asks, also after the device has failed
            return None

    def release_memory(self) -> None:
        ask("empty_cache")

    def explain(self, error: BaseException) -> str | None:
        text = " ".join(str(cause) for cause in (error, error.__cause__) if cause)
        if any(part in text for part in CORES_HELD):
            return (
                "The NeuronCores cannot be opened, most likely because another process holds them (`neuron-ls` lists it): "
                "end it, or give each process cores of its own with NEURON_RT_VISIBLE_CORES."
            )
        if any(part in text for part in MEMORY_FULL):
            return (
                "The NeuronCore is out of memory: choose a smaller preset or model, or end other programs that use it "
                "(`neuron-top` shows them)."
            )
        return None


def _why_missing() -> str | None:
    """Why there is no `torch.neuron`, in words; None when it is there. Imports the package when torch has not."""
    import torch

    if hasattr(torch, "neuron"):
        return None
    if util.find_spec(PACKAGE) is None:
        return f"{PACKAGE} is not installed"
    foreign = _foreign_package()
    if foreign:
        return f"{foreign}; {INSTALL}"
    try:
        importlib.import_module(PACKAGE)  # torch did not: TORCH_DEVICE_BACKEND_AUTOLOAD=0
    except Exception as error:  # whatever the package's own start-up raises
        return f"{PACKAGE} cannot be imported ({_first_line(error)}); {INSTALL}"
    return None if hasattr(torch, "neuron") else f"{PACKAGE} adds no torch.neuron; {INSTALL}"


def _foreign_package() -> str | None:
    """Two other packages have the same name; neither is imported."""
    try:
        distribution = metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError:
        return None
    if any(line.replace("_", "-").lower().startswith("torch-xla") for line in distribution.requires or ()):
        return f"{PACKAGE} {distribution.version} is the older package for torch_xla"
    if distribution.version.split(".")[0] == "1":
        return f"{PACKAGE} {distribution.version} is the placeholder on PyPI"
    return None


def _is_current_accelerator() -> bool:
    """What torch itself says; it asks the package's own hooks."""
    import torch

    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return accelerator is not None and accelerator.type == "neuron"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
