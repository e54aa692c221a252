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

from accel_ui.backends import Backend
from accel_ui.call import PROMPT_LENGTH_SHAPES, call_arguments, uses_negative_prompt
from accel_ui.compilation.artifacts import ArtifactStore
from accel_ui.compilation.compiler import Compiler
from accel_ui.compilation.graphs import GraphTable
from accel_ui.compilation.ledger import Ledger
from accel_ui.compilation.targets import Target, denoiser_name, find_targets
from accel_ui.decisions import Decision
from accel_ui.encoding import PromptMemory, cut_from
from accel_ui.environment import ARTIFACTS
from accel_ui.jobs import Job
from accel_ui.loading import LoadError, load_pipeline, place
from accel_ui.presets import Preset, check_sizes, derived_presets, size_factor
from accel_ui.settings import Settings
from accel_ui.survey import Survey

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline


@dataclass
class Engine:
    """Made by :func:`build_engine`; used by the accelerator's thread alone, but for reading states."""

    pipeline: DiffusionPipeline
    survey: Survey
    presets: dict[str, Preset]
    graphs: GraphTable
    prompts: PromptMemory
    denoiser: str
    _job: Job | None = None

    @property
    def compiles(self) -> bool:
        """Whether presets get graphs at all."""
        return self.survey.eager_reason is None

    def run(self, job: Job, *, may_compile: bool) -> Sequence[np.ndarray]:
        """Makes the pictures of `job`: height x width x 3 floats from 0 to 1 each.

        Raises:
            Stopped, GraphRefused, and whatever the pipeline raises.
        """
        self._job, preset = job, self.presets[job.request.preset]
        arguments = call_arguments(self.pipeline, preset, job.request, job.step)
        with self.graphs.running(preset.id, job, may_compile=may_compile):
            # no_grad, never inference_mode: a graph is made for one of them, and torch_tpu cannot compile the other.
            with torch.no_grad():
                images = self.pipeline(**arguments).images
            self.survey.backend.synchronize()
        return images

    @property
    def programs_compiled(self) -> int | None:
        """Programs that the device's own compiler has made in this process; None where it makes none."""
        return _programs(self.survey.backend)

    def uses_negative_prompt(self, preset: str) -> bool:
        """Whether a negative prompt changes the pictures of `preset`."""
        return uses_negative_prompt(self.pipeline, self.presets[preset])

    def notices(self, job: Job) -> list[str]:
        """What the user should know about a request, apart from errors."""
        request, preset = job.request, self.presets[job.request.preset]
        notices = []
        cut = cut_from(self.pipeline, preset, request.prompt)
        if cut:
            shown = cut if len(cut) <= 80 else cut[:77] + "..."
            notices.append(f"The prompt is longer than this preset reads; this part was cut: {shown}")
        if request.negative_prompt and not self.uses_negative_prompt(preset.id):
            notices.append("This preset does not use a negative prompt.")
        return notices


def build_engine(survey: Survey, settings: Settings, ledger: Ledger) -> Engine:
    """Loads and places what `survey` planned, and prepares its graphs. Nothing is compiled yet.

    Raises:
        LoadError, PresetError, UnknownComponent: one sentence for the user.
    """
    survey.backend.set_mode(survey.mode)
    pipeline = load_pipeline(survey.model, survey.dtype)
    survey = _with_pipeline(survey, pipeline)
    presets = survey.presets or derived_presets(pipeline)
    check_sizes(presets, size_factor(pipeline))
    targets = find_targets(pipeline, settings.compile_components, blocks=settings.compile_blocks)
    survey.backend.prepare(pipeline)
    by_id = {preset.id: preset for preset in presets}
    base = _versions() | survey.backend.fingerprint() | {"dtype": survey.dtype, "device": survey.backend.name}
    graphs = GraphTable(
        targets,
        list(by_id),
        keys=lambda target, preset: base | _target_key(target) | {"preset": by_id[preset].shape_key()},
        compiler=Compiler(survey.backend.compiler, survey.backend.artifact_options, survey.backend.keeps_artifacts),
        store=ArtifactStore(Path(settings.cache_dir) / ARTIFACTS),
        ledger=ledger,
        eager_reason=survey.eager_reason,
        synchronize=survey.backend.synchronize,
        programs=lambda: _programs(survey.backend),
    )
    try:
        place(pipeline, survey.placement, survey.detection.device)
    except Exception as error:
        known = survey.backend.explain(error)
        if known:
            raise LoadError(known) from error
        raise
    engine = Engine(pipeline, survey, by_id, graphs, prompts=None, denoiser=denoiser_name(pipeline))
    engine.prompts = PromptMemory(pipeline, lambda: engine._job.encoding())
    return engine


def _programs(backend: Backend) -> int | None:
    programs = backend.programs()
    return programs and programs.compiled


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
