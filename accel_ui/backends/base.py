"""What a device family must say about itself. A new one is one file here and one line in `__init__.py`.

No module of this package imports torch at its top: the environment of every family must be set before that.
"""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline

    from accel_ui.engine import Engine
    from accel_ui.requests import GenerationResult


@dataclass(frozen=True)
class Detection:
    """Whether the family can be used on this machine, and why.

    Attributes:
        reason: a sentence, without a final full stop.
        device: the torch device of the components, such as ``cuda:0``.
        name: what the vendor calls the device.
        memory: bytes of one device that a pipeline may use at this moment; 0 when unknown.
    """

    available: bool
    reason: str
    device: str = ""
    name: str = ""
    memory: int = 0


@dataclass(frozen=True)
class Programs:
    """Programs of the device's own compiler in this process: one a graph, and one for each kind of single operation.

    Attributes:
        compiled: made by this process.
        loaded: taken from the persistent cache.
    """

    compiled: int
    loaded: int


class Backend(ABC):
    """One device family."""

    name: ClassVar[str]
    #: values of ACCEL_UI_MODE it has
    modes: ClassVar[tuple[str, ...]] = ("compile", "eager")
    #: the torch.compile backend
    compiler: ClassVar[str] = "inductor"
    #: options torch.compile needs so that a graph of this family can be kept as a file
    artifact_options: ClassVar[dict[str, Any]] = {}
    #: whether a graph of this family can be kept as a file
    keeps_artifacts: ClassVar[bool] = True
    #: False where eager mode itself compiles op by op, so that it is no refuge for a cold preset
    eager_at_once: ClassVar[bool] = True
    #: whether a second process may use the device too, to compile in the background
    shares_with_child: ClassVar[bool] = False
    #: whether diffusers' own CPU offload works on it
    offloads: ClassVar[bool] = False
    #: whether the program's first thread must load the weights, before the port is opened
    loads_before_serving: ClassVar[bool] = False
    #: torch.distributed's backend for tensors of this family; None where a model cannot be divided among devices
    collectives: ClassVar[str | None] = None

    def environment(self, cache_dir: Path) -> dict[str, str]:
        """Variables to set before torch is imported, unless the user has set them."""
        return {}

    @abstractmethod
    def detect(self) -> Detection:
        """Looks for the device without creating a tensor on it. May import torch; never raises."""

    @abstractmethod
    def best_dtype(self) -> tuple[str, str]:
        """The dtype to use and the reason."""

    def compile_obstacle(self) -> str | None:
        """Why nothing can be compiled here, in words; None when it can."""
        return None

    def set_mode(self, mode: str) -> None:
        """Switches the device to one of :attr:`modes`, once, before the pipeline is loaded."""

    def use_device(self, device: str) -> None:
        """Makes `device` the current one of this thread, where several processes have one each."""

    def prepare(self, pipeline: DiffusionPipeline) -> None:
        """Changes to a loaded pipeline that this family's compiler or kernels need."""

    def runner(self, engine: Engine) -> Callable[..., GenerationResult]:
        """What is called as ``engine.run(job, may_compile=...)``: itself, unless the device is in another process."""
        return engine.run

    @abstractmethod
    def synchronize(self) -> None:
        """Waits until the device has finished its queue."""

    def memory_in_use(self) -> int | None:
        """Bytes of device memory this process holds; None when the family cannot say."""
        return None

    def programs(self) -> Programs | None:
        """What the device's compiler has done so far; None where single operations need no program."""
        return None

    def programs_compiled(self) -> int | None:
        """How many programs this process has made; None where single operations need none."""
        programs = self.programs()
        return programs.compiled if programs else None

    def kept_programs(self, cache_dir: Path) -> int | None:
        """How many programs lie in `cache_dir`; None where there is no such cache."""
        return None

    def release_memory(self) -> None:
        """Gives cached device memory back after an error."""

    def fingerprint(self) -> dict[str, str]:
        """What a compiled graph depends on besides the pipeline: the kind of device, its packages."""
        return {"machine": platform.machine()}

    def silence(self, device: str) -> str | None:
        """Why `device` does not answer the smallest computation, in words; None when it does."""
        import torch

        try:
            answer = torch.ones(1, device=device).add(1).item()
        except Exception as error:
            return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        return None if answer == 2 else f"it says that 1 + 1 is {answer:g}"

    def explain(self, error: BaseException) -> str | None:
        """One sentence for an error of this family that a user can do something about; else None."""
        return None
