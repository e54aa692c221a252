"""What is compiled: the methods of a pipeline's components that a run calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import nn

from accel_ui.errors import UserError

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline


UNET_STAGES = ("down_blocks", "mid_block", "up_blocks")


class UnknownComponent(UserError):
    """ACCEL_UI_COMPILE_COMPONENTS names something that the pipeline does not have."""


# An artifact finds its function by name when it is loaded, so these are plain functions of this module. The
# module is an argument: weights are inputs of the graph, not part of it.
def run_forward(module, *args, **kwargs):
    """`module.forward` as its class defines it."""
    return type(module).forward(module, *args, **kwargs)


def run_decode(module, *args, **kwargs):
    """`module.decode` as its class defines it."""
    return type(module).decode(module, *args, **kwargs)


@dataclass(frozen=True)
class Target:
    """A method of one module, or of several modules of one class that share a graph.

    Attributes:
        name: ``transformer``, ``vae``, or ``transformer.FluxTransformerBlock`` for repeated blocks.
        component: the pipeline's component it belongs to.
        compiled: whether it gets graphs; a target that does not is only watched.
    """

    name: str
    component: str
    modules: tuple[nn.Module, ...]
    method: str = "forward"
    compiled: bool = True

    @property
    def is_block(self) -> bool:
        """Whether the modules are blocks of a component, each called with what the one before left."""
        return self.name != self.component

    @property
    def function(self) -> Callable[..., Any]:
        """Runs the method on a module given as the first argument."""
        if self.is_block:
            # Some blocks are marked `allow_in_graph`: Dynamo traces their forward, but not the way to it by their class.
            return type(self.modules[0]).forward
        return {"forward": run_forward, "decode": run_decode}[self.method]


def denoiser_name(pipeline: DiffusionPipeline) -> str:
    """The component that runs at every step: ``transformer`` or ``unet``."""
    return "transformer" if getattr(pipeline, "transformer", None) is not None else "unet"


def find_targets(pipeline: DiffusionPipeline, wanted: Sequence[str], *, blocks: bool = False) -> list[Target]:
    """The denoiser and the VAE decoder, which are always watched, and what else is to be compiled.

    Args:
        wanted: component names, or ``["auto"]`` for the denoiser and the VAE.
        blocks: compile the denoiser's repeated blocks in place of the whole.

    Raises:
        UnknownComponent: naming the components that exist.
    """
    denoiser = denoiser_name(pipeline)
    modules = {name: part for name, part in pipeline.components.items() if isinstance(part, nn.Module)}
    names = [denoiser, "vae"] if tuple(wanted) == ("auto",) else list(wanted)
    for name in names:
        if name not in modules:
            raise UnknownComponent(
                f"ACCEL_UI_COMPILE_COMPONENTS names {name!r}, which this pipeline does not have: choose from {', '.join(modules)}."
            )
    targets = []
    for name in dict.fromkeys([denoiser, "vae", *names]):
        if name not in modules:
            continue
        split = blocks and name == denoiser and name in names
        method = "decode" if name == "vae" else "forward"
        targets.append(Target(name, name, (modules[name],), method, compiled=name in names and not split))
        if split:
            targets += _repeated_blocks(name, modules[name])
    return targets


def _repeated_blocks(name: str, module: nn.Module) -> list[Target]:
    """The blocks that diffusers itself calls repeated (`_repeated_blocks`), grouped by what can share a graph."""
    repeated = getattr(module, "_repeated_blocks", None) or ()
    groups: dict[tuple, list[nn.Module]] = {}
    for path, part in module.named_modules():
        if type(part).__name__ in repeated:
            groups.setdefault(_shared_graph_key(path, part), []).append(part)
    if not groups:
        raise UnknownComponent(
            f"ACCEL_UI_COMPILE_BLOCKS=1, but {type(module).__name__} names no repeated blocks: unset it."
        )
    targets: list[Target] = []
    for (cls, *_), parts in groups.items():
        number = 1 + sum(type(target.modules[0]).__name__ == cls for target in targets)
        targets.append(Target(f"{name}.{cls}" if number == 1 else f"{name}.{cls}.{number}", name, tuple(parts)))
    return targets


def _shared_graph_key(path: str, part: nn.Module) -> tuple:
    """Class, shapes of parameters, and for a UNet the stage: blocks of one width see another resolution there."""
    stage = tuple(path.split(".")[:2]) if path.startswith(UNET_STAGES) else ()
    return type(part).__name__, stage, tuple((name, tuple(value.shape)) for name, value in part.named_parameters())
