"""The arguments of a pipeline's own `__call__` for one request."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from accel_ui.presets import Preset
from accel_ui.requests import GenerationRequest

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline


def accepts(pipeline: DiffusionPipeline, argument: str) -> bool:
    """Whether the pipeline's call names `argument` (some swallow and ignore what they do not know)."""
    return argument in _parameters(type(pipeline))


@functools.cache
def _parameters(pipeline: type[DiffusionPipeline]) -> frozenset[str]:
    return frozenset(inspect.signature(pipeline.__call__).parameters)


def uses_negative_prompt(pipeline: DiffusionPipeline, preset: Preset) -> bool:
    """Whether a negative prompt changes the picture."""
    if not accepts(pipeline, "negative_prompt"):
        return False
    return preset.true_cfg_scale > 1 if accepts(pipeline, "true_cfg_scale") else preset.guidance_scale > 1


def doubles_batch(pipeline: DiffusionPipeline, preset: Preset) -> bool:
    """Whether guidance puts the unconditional prediction into the same call of the denoiser.

    Pipelines with ``true_cfg_scale`` (FLUX) call it a second time in place of that, with equal shapes.
    """
    return preset.guidance_scale > 1 and not accepts(pipeline, "true_cfg_scale")


def call_arguments(
    pipeline: DiffusionPipeline,
    preset: Preset,
    request: GenerationRequest,
    on_step: Callable[[int, torch.Tensor | None], None],
) -> dict[str, Any]:
    """Keyword arguments for `pipeline(...)`, all by name: the first parameter is not the prompt everywhere.

    Args:
        on_step: called after each denoising step with its number, from 1, and the latents where the pipeline gives them.
    """

    def on_step_end(pipeline: DiffusionPipeline, index: int, timestep: Any, tensors: dict) -> dict:
        on_step(index + 1, tensors.get("latents"))
        return tensors

    arguments = {
        "prompt": request.prompt,
        "height": preset.height,
        "width": preset.width,
        "num_inference_steps": preset.steps,
        "guidance_scale": float(preset.guidance_scale),
        "max_sequence_length": preset.max_sequence_length,
        "num_images_per_prompt": preset.images,
        # On the CPU: other devices' generators give other pictures for the same seed, and some have none.
        "generator": torch.Generator("cpu").manual_seed(request.seed),
        "output_type": "np",  # NaN survives in it and can be found; "pil" would turn it into black
        "callback_on_step_end": on_step_end,
        # Sana and PixArt would draw another size and resize it to the one asked for.
        "use_resolution_binning": False,
    }
    if uses_negative_prompt(pipeline, preset):
        arguments["negative_prompt"] = request.negative_prompt
        arguments["true_cfg_scale"] = float(preset.true_cfg_scale)
    return {name: value for name, value in arguments.items() if accepts(pipeline, name)}


# Pipelines whose denoiser sees as many tokens as the prompt has: each prompt is another shape (diffusers 0.42.1).
PROMPT_LENGTH_SHAPES = frozenset({"QwenImagePipeline", "CogView4Pipeline", "ZImagePipeline", "ErnieImagePipeline"})
