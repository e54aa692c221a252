"""The export is a FluxPipeline that unmodified diffusers loads and that draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from diffusers import AutoencoderKL, DiffusionPipeline, FluxPipeline

from training import checkpoint, stages
from training.config import FORMATS, Run
from training.evaluate import Setting, answers_right, generate, verdicts
from training.export import export_pipeline
from training.judge import Judge, normalized
from training.latents import LatentBasis
from training.model import TinyFlux
from training.prompts import EXAMS, full_prompt, questions
from training.tokenizers import load_tokenizers
from training.warmstart import warm_flow


@pytest.fixture(scope="module")
def export(small_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    model = TinyFlux(*load_tokenizers(small_run.tokenizers))
    checkpoint.save({"average": model.state_dict()}, small_run.flow_file)
    target = tmp_path_factory.mktemp("export") / "tiny"
    size = export_pipeline(small_run, target)
    assert size < 20_000_000
    return target


@pytest.mark.parametrize("format_name", FORMATS)
def test_the_export_loads_and_draws(export: Path, format_name: str) -> None:
    pipe = DiffusionPipeline.from_pretrained(export)
    pipe.set_progress_bar_config(disable=True)
    assert isinstance(pipe, FluxPipeline)
    assert {pipe.transformer.dtype, pipe.vae.dtype, pipe.text_encoder.dtype, pipe.text_encoder_2.dtype} == {
        torch.float32
    }
    setting = Setting(steps=2, guidance=2.0)
    images = generate(pipe, ["A RED house", "qwxkjv!"], setting, format_name)
    assert [image.size for image in images] == [FORMATS[format_name]] * 2
    assert all(np.isfinite(np.asarray(image, dtype=float)).all() for image in images)
    again = generate(pipe, ["a red house", "qwxkjv!"], setting, format_name)
    assert np.array_equal(np.asarray(images[0]), np.asarray(again[0]))


def test_the_encoder_computes_the_fixed_latents(export: Path, small_run: Run) -> None:
    vae = AutoencoderKL.from_pretrained(export / "vae")
    pictures = torch.randint(0, 256, (2, 96, 160, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    expected = LatentBasis.load(small_run.basis_file)(pictures)
    with torch.no_grad():
        posterior = vae.encode(normalized(pictures.permute(0, 3, 1, 2))).latent_dist
    assert torch.allclose(posterior.mode(), expected, atol=0.05)  # the weights are stored in bfloat16
    assert posterior.std.max() < 1e-5


def test_a_training_can_start_from_an_export(export: Path, small_run: Run, tmp_path: Path) -> None:
    successor = Run(tmp_path, seed=1, device="cpu", processes=1)
    stages.latents(stages.Plan(successor, tmp_path / "unused", seconds=1, samples=1, start_from=export))
    assert successor.basis_file.read_bytes() == small_run.basis_file.read_bytes()
    weights = warm_flow(export, small_run.tokenizers)
    exported = checkpoint.load(small_run.flow_file)["average"]
    for name, weight in exported.items():
        if name.startswith("reader."):
            continue  # of the training alone, not exported
        assert torch.allclose(weights[name], weight, atol=2e-2, rtol=1e-2), name


def test_exams_are_fixed_and_about_held_out_scenes() -> None:
    for exam in EXAMS:
        asked = questions(exam)
        assert len(asked) == exam.count
        assert asked == questions(exam)
        assert all(question.scene.is_held_out for question in asked)
        assert all(question.prompt == full_prompt(question.scene) for question in asked)
    assert sum(exam.count for exam in EXAMS) == 500


def test_verdicts_cover_every_question(export: Path) -> None:
    pipe = DiffusionPipeline.from_pretrained(export)
    pipe.set_progress_bar_config(disable=True)
    asked = questions(EXAMS[0])[:3]
    images = generate(pipe, [question.prompt for question in asked], Setting(1, 1.0))
    results = verdicts(asked, answers_right(Judge().eval(), asked, images))
    assert all(len(right) == 3 for right in results.values())
