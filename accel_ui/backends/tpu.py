"""Google TPUs, through the `torch_tpu` package.

diffusers documents a helper of its own that is not in 0.42: `pipe.enable_tpu_compile()` compiles `forward` of the
components on the TPU with AttnProcessor in all of them, and `pipe.tpu_warmup(...)` runs them once. Should a release
bring it, nothing here changes: it holds a component to no preset, keeps no graph on disk, leaves the VAE's `decode`,
which is what a pipeline calls, eager, and breaks FLUX's own attention processors.
"""

from __future__ import annotations

import os
import warnings
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from accel_ui.backends.base import Backend, Detection, Programs
from accel_ui.torchrun import launch

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline

PACKAGE = "torch_tpu"
PROGRAMS = "xla"  # the folder of compiled programs below ACCEL_UI_CACHE_DIR
GIB = 2**30
# HBM of one device; a v7 chip has 192 GB and two devices. https://cloud.google.com/tpu/docs/system-architecture-tpu-vm
HBM = {"TPU v4": 32 * GIB, "TPU v5e": 16 * GIB, "TPU v5p": 95 * GIB, "TPU v6e": 32 * GIB, "TPU v7": 96 * GIB}
EAGER_MODES = {
    "compile": "DEFER_NEVER",  # what is not in a graph runs as in eager mode
    "eager": "DEFER_NEVER",
    "eager-fused": "DEFER_AND_FUSE",
    "eager-blocking": "DEFER_NEVER_AND_LAUNCH_BLOCKING",  # an error comes from the line of the failing op
}
PCI_DEVICES = Path("/sys/bus/pci/devices")
GOOGLE_PCI_VENDOR = "0x1ae0"
NETWORK_AND_STORAGE = ("0x01", "0x02")  # PCI classes of Google's other devices in a cloud machine
HELD = ("already in use", "resource busy", "libtpu_lockfile", "DEVICE_BUSY")  # libtpu's words, of several versions
HELD_ADVICE = "the TPU is held by another process: `sudo lsof -w /dev/vfio/* /dev/accel*` shows which; end that program, or wait for it"


class TpuBackend(Backend):
    name = "tpu"
    modes = tuple(EAGER_MODES)
    compiler = "tpu"
    artifact_options = {"serializable": True}  # noqa: RUF012 - declared a ClassVar in the base class
    eager_at_once = False
    collectives = "tpu_dist"

    def environment(self, cache_dir: Path) -> dict[str, str]:
        if find_spec(PACKAGE) is None:
            return {}
        variables = {
            "TORCH_TPU_TIER3_COMPILATION_CACHE_ROOT": str(cache_dir / PROGRAMS),
            "TORCH_TPU_TIER2_COMPILATION_CACHE": _name_in_memory(cache_dir / PROGRAMS),
            "TF_CPP_MIN_LOG_LEVEL": "2",  # XLA's own log, warnings included
        }
        if not _chip_on_the_bus():
            # Without it libtpu asks a cloud metadata server for a TPU, 30 times a question: minutes.
            variables["TPU_SKIP_MDS_QUERY"] = "1"
        if _version_problem():
            # `import torch` loads torch_tpu, and would end with its error.
            variables["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        # Python reads PYTHONWARNINGS at its own start only. "Experimental" and "load tcmalloc" are for developers.
        warnings.filterwarnings("ignore", message=r"<TorchTpu/(ApiStage|Performance/TcMalloc)/")
        return variables

    def detect(self) -> Detection:
        if find_spec(PACKAGE) is None:
            if _chip_on_the_bus():
                return Detection(False, f"a TPU is here, but {PACKAGE} is not installed: pip install {PACKAGE}")
            return Detection(False, f"{PACKAGE} is not installed")
        problem = _version_problem()
        if problem:
            return Detection(False, problem)
        import torch

        # torch.tpu.is_available() and device_count() raise: torch_tpu wants torch.accelerator to be asked. Neither
        # creates a tensor.
        accelerator = torch.accelerator.current_accelerator()
        if accelerator is None or accelerator.type != "tpu":
            if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0":
                return Detection(False, f"TORCH_DEVICE_BACKEND_AUTOLOAD=0 keeps torch from loading {PACKAGE}")
            return Detection(False, f"{PACKAGE} {metadata.version(PACKAGE)} found no TPU on the PCI bus")
        try:
            count = torch.accelerator.device_count()
        except RuntimeError as error:
            return Detection(False, _held(error) or f"the TPU does not answer: {str(error).splitlines()[0]}")
        if not count:
            return Detection(False, "a TPU is on the PCI bus, but its runtime gives this process none")
        name = torch.tpu.get_device_name()
        memory = HBM.get(name, 0)
        size = f"{memory // GIB} GiB each" if memory else "of a generation whose memory is not known here"
        return Detection(
            True, f"{count} x {name}, {size}", device=f"tpu:{launch().local_rank % count}", name=name, memory=memory
        )

    def best_dtype(self) -> tuple[str, str]:
        return "bfloat16", "the TPU's matrix units compute it natively, with float32's range"

    def set_mode(self, mode: str) -> None:
        import torch

        torch.tpu.eager_mode = getattr(torch.tpu.EagerMode, EAGER_MODES[mode])

    def prepare(self, pipeline: DiffusionPipeline) -> None:
        from accel_ui.backends.attention import use_contiguous_attention

        use_contiguous_attention(pipeline)

    def synchronize(self) -> None:
        import torch

        torch.accelerator.synchronize()

    def memory_in_use(self) -> int | None:
        import torch

        return torch.accelerator.memory_allocated() or None  # 0 where the runtime does not tell

    def programs(self) -> Programs | None:
        import torch

        stats = getattr(getattr(torch, "tpu", None), "_get_cache_stats", None)  # private: it may go
        if stats is None:
            return None
        stats = stats()
        compiled = stats.num_compilations
        return Programs(compiled, stats.num_cache_reqs - stats.num_cache_hits - compiled)

    def kept_programs(self, cache_dir: Path) -> int:
        return sum(1 for _ in (cache_dir / PROGRAMS).rglob("*.bin"))

    def fingerprint(self) -> dict[str, str]:
        import torch

        packages = {name: metadata.version(name) for name in (PACKAGE, "libtpu")}
        flags = {name: os.environ.get(name, "") for name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS")}
        return {**super().fingerprint(), **packages, **flags, "generation": torch.tpu.get_device_name()}

    def explain(self, error: BaseException) -> str | None:
        held = _held(error)
        if held:
            return f"{held[0].upper()}{held[1:]}."
        if isinstance(error, RuntimeError) and "RESOURCE_EXHAUSTED" in str(error):
            return "The TPU is out of memory: choose a smaller preset, or set ACCEL_UI_TEXT_ENCODER_DEVICE=cpu."
        return None


def _chip_on_the_bus() -> bool:
    """Whether a Google device that may be a TPU is on the PCI bus. torch is not asked: it is not imported yet."""
    for device in PCI_DEVICES.glob("*"):
        try:
            vendor, kind = (device / "vendor").read_text().strip(), (device / "class").read_text()
        except OSError:
            continue
        if vendor == GOOGLE_PCI_VENDOR and not kind.startswith(NETWORK_AND_STORAGE):
            return True
    return False


def _name_in_memory(folder: Path) -> str:
    """A name for torch_tpu's second cache of programs, in /dev/shm, that belongs to `folder` alone.

    The folder works only together with the second cache, and what is found there is never written to the folder
    (measured, torch_tpu 0.2.0): under one name for all, a warm-up could leave a new folder empty until a reboot.
    """
    name = folder / "name"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not name.exists():
            name.write_text(f"accel-ui-{uuid4().hex[:12]}")
        return name.read_text().strip()
    except OSError:  # said in words when the app checks its folders
        return "disabled"


def _version_problem() -> str | None:
    """Why the installed torch_tpu cannot work with the installed torch, in words; None when it can."""
    from packaging.requirements import Requirement

    try:
        requirements, torch = metadata.requires(PACKAGE) or (), metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None
    for requirement in map(Requirement, requirements):
        if requirement.name == "torch" and not requirement.specifier.contains(torch.split("+")[0], prereleases=True):
            version = metadata.version(PACKAGE)
            return f"{PACKAGE} {version} needs torch {requirement.specifier}, and torch {torch} is installed"
    return None


def _held(error: BaseException) -> str | None:
    return HELD_ADVICE if any(words in str(error) for words in HELD) else None
