"""A loaded pipeline on its device, with its graphs: what one run needs, in one place."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import diffusers
import numpy as np
import torch
import transformers

from accel_ui.call import PROMPT_LENGTH_SHAPES, call_arguments, doubles_batch, uses_negative_prompt
from accel_ui.compilation.artifacts import ArtifactStore
from accel_ui.compilation.compiler import Compiler
from accel_ui.compilation.graphs import GraphTable
from accel_ui.compilation.ledger import Ledger
from accel_ui.compilation.targets import Target, denoiser_name, find_targets
from accel_ui.decisions import Decision
from accel_ui.encoding import PromptMemory, cut_from
from accel_ui.environment import ARTIFACTS
from accel_ui.errors import UserError
from accel_ui.jobs import Job
from accel_ui.loading import LoadError, load_pipeline, place
from accel_ui.pictures import check_picture, to_image
from accel_ui.placement import head_room
from accel_ui.presets import Preset, check_sizes, derived_presets, size_factor
from accel_ui.preview import Preview, PreviewTap
from accel_ui.requests import GenerationResult
from accel_ui.settings import Settings
from accel_ui.survey import Survey

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline
    from torch.distributed.device_mesh import DeviceMesh


ADAPTER_METHODS = ("load_lora_weights", "fuse_lora", "unfuse_lora", "load_ip_adapter")


@dataclass
class Engine:
    """Made by :func:`build_engine`; used by the accelerator's thread alone, but for reading states."""

    pipeline: DiffusionPipeline
    survey: Survey
    presets: dict[str, Preset]
    graphs: GraphTable
    prompts: PromptMemory
    denoiser: str
    preview: Preview
    preview_every: int

    @property
    def compiles(self) -> bool:
        """Whether presets get graphs at all."""
        return self.survey.eager_reason is None

    def fits_twice(self) -> bool:
        """Whether a child process may load a second copy of the pipeline, to compile it there."""
        backend, placement = self.survey.backend, self.survey.placement
        if not (backend.shares_with_child and self.survey.keeps_graphs):
            return False
        weights = sum(assignment.bytes for assignment in placement.assignments)
        free = backend.detect().memory
        return weights + head_room(free, weights) <= free

    def run(self, job: Job, *, may_compile: bool) -> GenerationResult:
        """Makes the pictures of `job`; they are checked, and not on disk yet.

        Raises:
            Stopped, GraphRefused, BadPicture, and whatever the pipeline raises.
        """
        plan, preset = self.survey, self.presets[job.request.preset]
        before, programs = self.graphs.made, plan.backend.programs_compiled()
        arrays = self._pixels(job, preset, may_compile)
        for pixels in arrays:
            check_picture(pixels, plan.dtype)
        ready = self.graphs.state(preset.id).state == "ready"
        return GenerationResult(
            request=job.request,
            preset=preset,
            model=plan.model.name,
            device=plan.backend.name,
            dtype=plan.dtype,
            mode=plan.mode if ready or plan.mode != "compile" else "eager",
            images=[to_image(pixels) for pixels in arrays],
            timings=job.timings(),
            graphs_compiled=self.graphs.made - before,
            programs_compiled=None if programs is None else plan.backend.programs_compiled() - programs,
            notices=self._notices(job),
        )

    def _pixels(self, job: Job, preset: Preset, may_compile: bool) -> Sequence[np.ndarray]:
        """Height x width x 3 floats from 0 to 1, for each picture."""
        tap = PreviewTap(self.preview, self.preview_every, preset)
        self.prompts.watch = job.encoding

        def on_step(index: int, latents: torch.Tensor | None) -> None:
            thumbnail = None if latents is None else tap.after_step(self.pipeline.scheduler, index, latents)
            job.step(index, preset.steps, thumbnail)

        arguments = call_arguments(self.pipeline, preset, job.request, on_step)
        with self.graphs.running(preset.id, job, may_compile=may_compile):
            # no_grad, never inference_mode: a graph is made for one of them, and torch_tpu cannot compile the other.
            with torch.no_grad():
                images = self.pipeline(**arguments).images
            self.survey.backend.synchronize()
        tap.finished(images[0])
        return images

    def uses_negative_prompt(self, preset: str) -> bool:
        """Whether a negative prompt changes the pictures of `preset`."""
        return uses_negative_prompt(self.pipeline, self.presets[preset])

    def _notices(self, job: Job) -> list[str]:
        request, preset = job.request, self.presets[job.request.preset]
        notices = []
        cut = cut_from(self.pipeline, preset, request.prompt)
        if cut:
            shown = cut if len(cut) <= 80 else cut[:77] + "..."
            notices.append(f"The prompt is longer than this preset reads; this part was cut: {shown}")
        if request.negative_prompt and not self.uses_negative_prompt(preset.id):
            notices.append("This preset does not use a negative prompt.")
        return notices


def build_engine(survey: Survey, settings: Settings, ledger: Ledger, mesh: DeviceMesh | None = None) -> Engine:
    """Loads and places what `survey` planned, and prepares its graphs. Nothing is compiled yet.

    Args:
        mesh: the devices that share the denoiser, when there are several.

    Raises:
        LoadError, PresetError, UnknownComponent: one sentence for the user.
    """
    survey.backend.set_mode(survey.mode)
    pipeline = load_pipeline(survey.model, survey.dtype, mesh)
    survey = _with_pipeline(survey, pipeline)
    presets = survey.presets or derived_presets(pipeline)
    check_sizes(presets, size_factor(pipeline))
    targets = find_targets(pipeline, settings.compile_components, blocks=settings.compile_blocks)
    survey.backend.prepare(pipeline)
    by_id = {preset.id: preset for preset in presets}
    shapes = {preset.id: preset.shape_key(doubles_batch(pipeline, preset)) for preset in presets}
    base = _versions() | survey.backend.fingerprint() | {"dtype": survey.dtype, "device": survey.backend.name}
    graphs = GraphTable(
        targets,
        {preset.id: f"{preset.width}x{preset.height}" for preset in presets},
        keys=lambda target, preset: base | _target_key(target) | {"preset": shapes[preset]},
        compiler=Compiler(survey.backend.compiler, survey.backend.artifact_options, survey.keeps_graphs),
        store=ArtifactStore(Path(settings.cache_dir) / ARTIFACTS),
        ledger=ledger,
        eager_reason=survey.eager_reason,
        synchronize=survey.backend.synchronize,
        programs=survey.backend.programs_compiled,
    )
    _place(pipeline, survey)
    if survey.eager_reason is None:
        _refuse_adapters(pipeline)
    return Engine(
        pipeline=pipeline,
        survey=survey,
        presets=by_id,
        graphs=graphs,
        prompts=PromptMemory(pipeline),
        denoiser=denoiser_name(pipeline),
        preview=Preview(),
        preview_every=settings.preview_every,
    )


def _refuse_adapters(pipeline: DiffusionPipeline) -> None:
    """An adapter changes the modules that the graphs were made from: they would ignore it, or be made again."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise UserError(
            "Adapters cannot be added to a compiled pipeline: set ACCEL_UI_MODE=eager, or save a pipeline with the adapter fused."
        )

    for name in ADAPTER_METHODS:
        if hasattr(pipeline, name):
            setattr(pipeline, name, refuse)


def _place(pipeline: DiffusionPipeline, survey: Survey) -> None:
    """The first use of the device: it may be taken, or full."""
    try:
        place(pipeline, survey.placement, survey.detection.device)
    except Exception as error:
        known = survey.backend.explain(error)
        if known is None:
            raise
        raise LoadError(known) from error


def _with_pipeline(survey: Survey, pipeline: DiffusionPipeline) -> Survey:
    """What only the loaded pipeline tells: whether its shapes depend on the prompt."""
    name = type(pipeline).__name__
    if name not in PROMPT_LENGTH_SHAPES or survey.eager_reason:
        return survey
    reason = f"{name} gives each prompt length a shape of its own, so no graph would last"
    if not survey.backend.eager_at_once:
        raise LoadError(
            f"{reason}: on {survey.backend.name} set ACCEL_UI_MODE=eager, or choose a model with a fixed prompt length."
        )
    decisions = tuple(Decision("mode", "eager", reason) if d.subject == "mode" else d for d in survey.decisions)
    return replace(survey, mode="eager", eager_reason=reason, decisions=decisions)


def _versions() -> dict[str, str]:
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "torch": torch.__version__,
        "diffusers": diffusers.__version__,
        "transformers": transformers.__version__,
    }


def _target_key(target: Target) -> dict[str, Any]:
    module = target.modules[0]
    config = getattr(module, "config", None) or {}
    config = config.to_dict() if hasattr(config, "to_dict") else dict(config)
    processors = getattr(module, "attn_processors", None) or {}
    return {
        "model": f"{type(module).__module__}.{type(module).__qualname__}.{target.method}",
        "config": {name: value for name, value in config.items() if not name.startswith("_")},
        "attention": sorted({_attention(processor) for processor in processors.values()}),
    }


def _attention(processor: Any) -> str:
    return f"{type(processor).__name__}:{getattr(processor, '_attention_backend', None)}"
