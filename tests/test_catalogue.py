"""The known models: their presets can be drawn by the pipeline classes they are for."""

from __future__ import annotations

import json

import pytest

from accel_ui.catalogue import CATALOGUE, FLUX2_KLEIN, FLUX_SCHNELL, SD_TURBO, SDXL_TURBO, TINY
from accel_ui.loading import TINY_FOLDER
from accel_ui.presets import check_sizes, size_factor
from test_presets import bare

PIPELINES = {
    "tiny": "FluxPipeline",
    "black-forest-labs/FLUX.1-schnell": "FluxPipeline",
    "black-forest-labs/FLUX.2-klein-4B": "Flux2KleinPipeline",
    "stabilityai/sd-turbo": "StableDiffusionPipeline",
    "stabilityai/sdxl-turbo": "StableDiffusionXLPipeline",
    "stabilityai/stable-diffusion-3.5-medium": "StableDiffusion3Pipeline",
    "Efficient-Large-Model/Sana_Sprint_1.6B_1024px_diffusers": "SanaSprintPipeline",
}
each_model = pytest.mark.parametrize("model", CATALOGUE.values(), ids=CATALOGUE)


def test_promised_models_are_there():
    assert set(PIPELINES) <= set(CATALOGUE)


@each_model
def test_size_factor_is_the_pipelines_own(model):
    assert size_factor(bare(PIPELINES[model.id])) == model.size_factor
    check_sizes(model.presets, model.size_factor)


@each_model
def test_presets_have_stable_ids(model):
    square, landscape, portrait, draft, *more = model.presets
    assert [preset.id for preset in model.presets[:4]] == ["square", "landscape", "portrait", "draft"]
    assert [preset.id for preset in more] == (["large"] if model.id == "tiny" else [])
    assert square.height == square.width
    assert (landscape.width, landscape.height) == (portrait.height, portrait.width)
    assert landscape.width > landscape.height
    assert draft.height * draft.width * draft.steps < square.height * square.width * square.steps


@each_model
def test_model_says_what_it_is_and_may(model):
    assert model.title
    assert model.licence
    assert len(model.examples) >= 3


@pytest.mark.parametrize("model", [FLUX_SCHNELL, FLUX2_KLEIN, SD_TURBO, SDXL_TURBO], ids=lambda model: model.id)
def test_models_distilled_without_guidance_are_run_without_it(model):
    assert all(max(preset.guidance_scale, preset.true_cfg_scale) <= 1 for preset in model.presets)


@pytest.mark.parametrize(
    ("model", "steps", "guidance", "tokens"), [(FLUX_SCHNELL, 4, 0.0, 256), (FLUX2_KLEIN, 4, 1.0, 512)]
)
def test_flux_presets_are_those_of_its_card(model, steps, guidance, tokens):
    square = model.presets[0]
    assert (square.steps, square.guidance_scale, square.max_sequence_length) == (steps, guidance, tokens)


def test_embedded_model_reads_as_many_tokens_as_its_presets_say():
    told = json.loads((TINY_FOLDER / "tokenizer_2" / "tokenizer_config.json").read_text())["model_max_length"]
    assert {preset.max_sequence_length for preset in TINY.presets} == {told}


@pytest.mark.parametrize("model", [FLUX_SCHNELL, FLUX2_KLEIN], ids=lambda model: model.id)
def test_component_sizes_name_the_parts_that_weigh(model):
    assert {"transformer", "text_encoder", "vae"} <= set(model.component_bytes)
    assert all(count > 10**8 for count in model.component_bytes.values())
