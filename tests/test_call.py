"""The arguments of each pipeline's own call: real classes of diffusers, without weights."""

from __future__ import annotations

import inspect

import pytest

from accel_ui.call import call_arguments, doubles_batch, uses_negative_prompt
from accel_ui.catalogue import CATALOGUE, FLUX2_KLEIN, FLUX_SCHNELL, SANA_SPRINT, SD35_MEDIUM, SD_TURBO, TINY
from accel_ui.presets import Preset
from accel_ui.requests import GenerationRequest
from test_catalogue import PIPELINES
from test_presets import bare

REQUEST = GenerationRequest("a house", "square", 2**63 - 1, "fog")


def arguments(model, preset: Preset | None = None, on_step=lambda index, latents: None) -> dict:
    return call_arguments(bare(PIPELINES[model.id]), preset or model.presets[0], REQUEST, on_step)


@pytest.mark.parametrize("model", CATALOGUE.values(), ids=CATALOGUE)
def test_every_known_pipeline_takes_all_of_them(model):
    given, preset = arguments(model), model.presets[0]
    inspect.signature(type(bare(PIPELINES[model.id])).__call__).bind(None, **given)
    assert (given["prompt"], given["height"], given["width"]) == ("a house", preset.height, preset.width)
    assert (given["num_inference_steps"], given["guidance_scale"]) == (preset.steps, preset.guidance_scale)
    assert given["output_type"] == "np"


@pytest.mark.parametrize(
    ("model", "tokens"), [(FLUX_SCHNELL, 256), (FLUX2_KLEIN, 512), (SD35_MEDIUM, 256), (SD_TURBO, None)]
)
def test_prompt_length_is_given_where_it_exists(model, tokens):
    assert arguments(model).get("max_sequence_length") == tokens


def test_sana_draws_the_size_that_was_asked_for():
    assert arguments(SANA_SPRINT)["use_resolution_binning"] is False


@pytest.mark.parametrize("model", [TINY, SD_TURBO], ids=lambda model: model.id)
def test_seed_rules_a_generator_on_the_cpu(model):
    generator = arguments(model)["generator"]
    assert (generator.device.type, generator.initial_seed()) == ("cpu", 2**63 - 1)


def test_steps_are_reported_from_one_with_the_latents_where_they_are_given():
    seen, latents = [], object()
    on_step_end = arguments(TINY, on_step=lambda *step: seen.append(step))["callback_on_step_end"]
    for index, tensors in enumerate([{"latents": latents}, {}]):
        assert on_step_end(None, index, 0.5, tensors) is tensors
    assert seen == [(1, latents), (2, None)]


@pytest.mark.parametrize(
    ("model", "guidance", "cfg", "used"),
    [
        (TINY, 0.0, 2.0, True),
        (TINY, 4.5, 1.0, False),  # FLUX's guidance_scale is a number the model reads, not a second pass
        (SD35_MEDIUM, 4.5, 1.0, True),
        (SD35_MEDIUM, 1.0, 1.0, False),
        (SD_TURBO, 7.5, 1.0, True),
        (SD_TURBO, 0.0, 1.0, False),
        (SANA_SPRINT, 4.5, 1.0, False),
    ],
    ids=lambda value: getattr(value, "id", str(value)),
)
def test_negative_prompt_is_given_where_it_changes_the_picture(model, guidance, cfg, used):
    preset = Preset("square", "Square", 512, 512, 2, guidance_scale=guidance, true_cfg_scale=cfg)
    assert uses_negative_prompt(bare(PIPELINES[model.id]), preset) is used
    assert arguments(model, preset).get("negative_prompt") == ("fog" if used else None)


def test_guidance_doubles_the_batch_where_it_is_no_second_call():
    guided = Preset("square", "Square", 512, 512, 2, guidance_scale=4.5, true_cfg_scale=2.0)
    plain = Preset("square", "Square", 512, 512, 2)
    assert [doubles_batch(bare(PIPELINES[model.id]), guided) for model in (TINY, SD35_MEDIUM)] == [False, True]
    assert not doubles_batch(bare(PIPELINES[SD35_MEDIUM.id]), plain)
