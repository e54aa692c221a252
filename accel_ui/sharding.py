"""How tensor parallelism can divide a model among devices, read from its config before a weight is loaded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from accel_ui.errors import UserError

if TYPE_CHECKING:
    from accel_ui.loading import Model

DIVIDED = "transformer"  # the only component that diffusers divides; the others are whole on each device
MOST_DEVICES = 64


class CannotDivide(UserError):
    """The model cannot be divided among this many devices."""


@dataclass(frozen=True)
class Sharding:
    """What can be divided, and among how many devices.

    Attributes:
        model_class: of the denoiser.
        degrees: numbers of devices that can share it, from 2; empty when diffusers cannot divide the class.
        heads: its attention heads, which are dealt out whole.
        share: the part of its weights that is divided, from 0 to 1; the rest (such as modulation) is on each device.
    """

    model_class: str
    degrees: tuple[int, ...] = ()
    heads: int = 0
    share: float = 0.0

    def bytes_on_each(self, whole: int, degree: int) -> int:
        """Of the denoiser's `whole` bytes, those on each of `degree` devices."""
        return round(whole * (1 - self.share + self.share / degree))

    def check(self, degree: int) -> None:
        """Refuses a number of devices.

        Raises:
            CannotDivide: naming those that can.
        """
        if not self.degrees:
            raise CannotDivide(
                f"diffusers cannot divide {self.model_class} among devices, and torchrun started {degree} processes: "
                "start one with `python app.py`, or choose a FLUX, FLUX.2 or Qwen-Image model."
            )
        if degree not in self.degrees:
            raise CannotDivide(
                f"{degree} devices cannot share {self.model_class} with its {self.heads} attention heads: start torchrun "
                f"with --nproc_per_node {_in_words(self.degrees)}."
            )


def _in_words(numbers: tuple[int, ...]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} or {last}" if most else last


def read_sharding(model: Model) -> Sharding:
    """From the config of `model`'s denoiser; no weight is read.

    Raises:
        LoadError: when the config cannot be had.
    """
    import diffusers
    import torch
    from diffusers.hooks.tensor_parallel import resolve_tp_shard_specs

    config = _config(model)
    name = config.get("_class_name", "its denoiser")
    cls = getattr(diffusers, name, None)
    plan, heads = getattr(cls, "_tp_plan", None), config.get("num_attention_heads")
    if not plan or not heads:
        return Sharding(name)
    with torch.device("meta"):
        denoiser = cls.from_config(config)
    sizes = {path: parameter.numel() for path, parameter in denoiser.named_parameters()}
    divided = [path for path, spec in resolve_tp_shard_specs(denoiser, plan, 1).items() if spec.dim is not None]

    def works(degree: int) -> bool:
        try:
            resolve_tp_shard_specs(denoiser, plan, degree)
        except ValueError:
            return False
        return heads % degree == 0

    degrees = tuple(degree for degree in range(2, min(heads, MOST_DEVICES) + 1) if works(degree))
    return Sharding(name, degrees, heads, sum(sizes[path] for path in divided) / sum(sizes.values()))


def _config(model: Model) -> dict:
    from huggingface_hub import errors, hf_hub_download

    from accel_ui.loading import LoadError, explain

    path = f"{DIVIDED}/config.json"
    try:
        file = model.folder / path if model.folder else Path(hf_hub_download(model.name, path))
        return json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, errors.EntryNotFoundError):  # a pipeline with a UNet
        return {}
    except Exception as error:
        raise LoadError(explain(error, model)) from error
