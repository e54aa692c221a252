"""Presets: the named, frozen sets of numbers that reach a tensor shape."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from accel_ui.errors import UserError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline

ID_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,31}")
LIMITS = {
    "height": (16, 8192),
    "width": (16, 8192),
    "steps": (1, 500),
    "max_sequence_length": (1, 4096),
    "images": (1, 16),
}
GUIDANCE_LIMITS = (0.0, 100.0)
MANY_STEPS = 8


class PresetError(UserError):
    """A preset cannot be used."""


@dataclass(frozen=True)
class Preset:
    """Every number of a run that a compiled graph depends on. Users pick a preset, never a number.

    Attributes:
        id: stable word, used by the API and in file names.
        label: what the page shows.
        height, width: pixels.
        steps: denoising steps. Locked as well, so that a preset also fixes the time a picture takes.
        guidance_scale: the pipeline's own argument of that name.
        max_sequence_length: prompt length in tokens, where the pipeline has that argument.
        images: pictures a run (the batch size).
        true_cfg_scale: classifier-free guidance by a second pass, for pipelines that have it (FLUX); 1 is off.
    """

    id: str
    label: str
    height: int
    width: int
    steps: int
    guidance_scale: float = 0.0
    max_sequence_length: int = 256
    images: int = 1
    true_cfg_scale: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not ID_PATTERN.fullmatch(self.id):
            raise PresetError(f"Preset id {self.id!r} must be a word of lower-case letters, digits and hyphens.")
        if not isinstance(self.label, str) or not self.label.strip():
            raise PresetError(f"Preset {self.id!r}: label={self.label!r} must be a few words.")
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise PresetError(f"Preset {self.id!r}: {name}={value!r} must be a whole number from {low} to {high}.")
        for name in ("guidance_scale", "true_cfg_scale"):
            value = getattr(self, name)
            low, high = GUIDANCE_LIMITS
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
                raise PresetError(f"Preset {self.id!r}: {name}={value!r} must be a number from {low:g} to {high:g}.")

    @property
    def summary(self) -> str:
        """`1024 x 768, 4 steps`."""
        return f"{self.width} x {self.height}, {self.steps} step{'s' if self.steps > 1 else ''}"

    def shape_key(self, doubled: bool) -> dict:
        """The numbers a compiled graph depends on (not the steps: see the module docstring of `compilation`).

        Args:
            doubled: whether guidance doubles the batch (:func:`accel_ui.call.doubles_batch`).
        """
        return {
            "height": self.height,
            "width": self.width,
            "max_sequence_length": self.max_sequence_length,
            "images": self.images,
            "doubled": doubled,
        }


def read_presets(path: Path) -> tuple[Preset, ...]:
    """Reads presets from a TOML file of ``[presets.ID]`` tables with the fields of :class:`Preset`.

    Raises:
        PresetError: naming the file and what to change in it.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("presets", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise PresetError(f"{path} cannot be read as TOML: {error}.") from None
    if not isinstance(tables, dict) or not tables or not all(isinstance(table, dict) for table in tables.values()):
        raise PresetError(f"{path} has no preset: write at least one table such as [presets.square].")
    known = {field.name for field in fields(Preset)} - {"id"}
    presets = []
    for preset_id, table in tables.items():
        unknown = sorted(set(table) - known)
        if unknown:
            raise PresetError(
                f"{path}: preset {preset_id!r} has an unknown field {unknown[0]!r}; the fields are {', '.join(sorted(known))}."
            )
        missing = sorted({"height", "width", "steps"} - set(table))
        if missing:
            raise PresetError(f"{path}: preset {preset_id!r} lacks {', '.join(missing)}.")
        try:
            presets.append(Preset(id=preset_id, **{"label": preset_id.capitalize(), **table}))
        except PresetError as error:
            raise PresetError(f"{path}: {error}") from None
    return tuple(presets)


def check_sizes(presets: Sequence[Preset], factor: int) -> None:
    """Refuses a size that the pipeline would round in silence.

    Args:
        factor: pixels that height and width must be divisible by, see :func:`size_factor`.

    Raises:
        PresetError: with the two nearest sizes that work.
    """
    for preset in presets:
        for name in ("height", "width"):
            value = getattr(preset, name)
            if value % factor:
                low = value // factor * factor
                nearest = f"{low} or {low + factor}" if low else str(factor)
                raise PresetError(
                    f"Preset {preset.id!r}: {name}={value} must be divisible by {factor} for this model; use {nearest}."
                )


def size_factor(pipeline: DiffusionPipeline) -> int:
    """Pixels that height and width of `pipeline` must be divisible by.

    Pipelines keep it in their image processor (FLUX's already counts its 2 x 2 packing); those with a patch
    size of their own (Stable Diffusion 3) multiply it.
    """
    processor = getattr(pipeline, "image_processor", None)
    factor = getattr(getattr(processor, "config", None), "vae_scale_factor", None) or pipeline.vae_scale_factor
    return int(factor) * int(getattr(pipeline, "patch_size", None) or 1)


def derived_presets(pipeline: DiffusionPipeline) -> tuple[Preset, ...]:
    """Presets for a model that the catalogue does not know, from the pipeline's own defaults."""
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(type(pipeline).__call__).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    factor = size_factor(pipeline)
    side = defaults.get("height") or int(getattr(pipeline, "default_sample_size", 0) or 0) * pipeline.vae_scale_factor
    side = max(factor, int(side or 512) // factor * factor)
    steps = int(defaults.get("num_inference_steps") or 30)
    numbers = {
        "guidance_scale": float(defaults.get("guidance_scale") or 0.0),
        "max_sequence_length": int(defaults.get("max_sequence_length") or 77),
    }
    long, short = (max(factor, round(side * ratio / factor) * factor) for ratio in (1.25, 0.75))
    draft_steps = steps // 2 if steps >= MANY_STEPS else steps  # the few steps of a distilled model are meant
    half = max(factor, side // 2 // factor * factor)
    return (
        Preset("square", "Square", side, side, steps, **numbers),
        Preset("landscape", "Landscape", short, long, steps, **numbers),
        Preset("portrait", "Portrait", long, short, steps, **numbers),
        Preset("draft", "Draft", half, half, draft_steps, **numbers),
    )
