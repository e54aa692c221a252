"""What comes from outside is checked once: a good request, or one sentence."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pytest

from accel_ui.catalogue import TINY
from accel_ui.requests import (
    MAX_PROMPT_CHARACTERS,
    MAX_SEED,
    GenerationRequest,
    GenerationResult,
    RequestError,
    Timings,
    random_seed,
)

PRESETS = {preset.id: preset for preset in TINY.presets}


def checked(**values) -> GenerationRequest:
    return GenerationRequest.checked(**{"prompt": "a house", "preset": "square", "presets": PRESETS, **values})


@pytest.mark.parametrize(
    ("seed", "expected"), [(0, 0), (7, 7), (MAX_SEED, 2**63 - 1), ("42", 42), (" 42 ", 42), (str(MAX_SEED), MAX_SEED)]
)
def test_seed_is_kept_to_the_last_digit(seed, expected):
    assert checked(seed=seed).seed == expected


def test_random_seed_differs_and_is_exact_in_javascript():
    seeds = {checked(seed="random").seed for _ in range(20)} | {checked().seed, random_seed()}
    assert len(seeds) > 15
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_text_is_stripped_and_its_signs_are_kept():
    request = checked(prompt="  Ein rotes Haus 🏠\n家 ", negative_prompt=" fog ")
    assert (request.prompt, request.negative_prompt) == ("Ein rotes Haus 🏠\n家", "fog")


def test_longest_prompt_passes():
    assert len(checked(prompt="x" * MAX_PROMPT_CHARACTERS).prompt) == MAX_PROMPT_CHARACTERS


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"prompt": ""}, "The prompt is empty"),
        ({"prompt": " \n\t "}, "The prompt is empty"),
        ({"prompt": None}, "must be text, not None"),
        ({"prompt": 5}, "must be text, not 5"),
        ({"prompt": ["a"]}, "must be text"),
        ({"prompt": "x" * 20_000}, "20,000 characters"),
        ({"negative_prompt": None}, "The negative prompt must be text"),
        ({"negative_prompt": "x" * 20_000}, "The negative prompt has 20,000 characters"),
        ({"preset": "4096x4096"}, "no preset '4096x4096': choose one of square, landscape, portrait, draft"),
        ({"preset": None}, "no preset None"),
        ({"preset": 7}, "no preset 7"),
        ({"preset": "Square"}, "no preset 'Square'"),
        ({"preset": "x" * 10_000}, "..."),
        ({"preset": ["square"]}, "no preset ['square']"),
        ({"preset": {"id": "square"}}, "no preset"),
        ({"seed": -1}, "from 0 to 9223372036854775807"),
        ({"seed": "-1"}, "from 0 to"),
        ({"seed": 2**64}, "from 0 to"),
        ({"seed": 2**63}, "from 0 to"),
        ({"seed": str(2**64)}, "from 0 to"),
        ({"seed": 3.7}, "seed 3.7 cannot"),
        ({"seed": float("nan")}, "seed nan cannot"),
        ({"seed": True}, "seed True cannot"),
        ({"seed": None}, "seed None cannot"),
        ({"seed": "many"}, "seed 'many' cannot"),
        ({"seed": "9" * 5000}, "..."),
        ({"seed": [1]}, "seed [1] cannot"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_value_is_one_short_sentence(values, words):
    with pytest.raises(RequestError) as error:
        checked(**values)
    message = str(error.value)
    assert words in message
    assert "\n" not in message
    assert len(message) < 200


@pytest.mark.parametrize("name", ["prompt", "negative_prompt"])
def test_half_of_an_emoji_is_refused_or_mended(name):
    """JSON can carry a lone surrogate; no tokenizer takes it and no file can hold it."""
    with suppress(RequestError):
        getattr(checked(**{name: "a house \ud83c"}), name).encode("utf-8")


def test_info_holds_every_parameter_and_is_json():
    result = GenerationResult(
        request=GenerationRequest("Haus 🏠", "draft", 2**63 - 1, "fog"),
        preset=PRESETS["draft"],
        model="tiny",
        device="cpu",
        dtype="float32",
        mode="eager",
        images=[np.zeros((1, 1, 3))],
        timings=Timings(queue=0.5, encode=0.25, compile=1, denoise=2, decode=0.125),
        graphs_compiled=2,
        notices=["a notice"],
    )
    info = json.loads(json.dumps(result.info()))
    for name, value in {
        "prompt": "Haus 🏠", "negative_prompt": "fog", "preset": "draft", "seed": 2**63 - 1, "model": "tiny",
        "height": 128, "width": 128, "steps": 4, "guidance_scale": 0.0, "true_cfg_scale": 1.0, "images": 1,
        "max_sequence_length": 32, "device": "cpu", "dtype": "float32", "mode": "eager", "graphs_compiled": 2,
        "notices": ["a notice"],
    }.items():  # fmt: skip
        assert info[name] == value, name
    assert info["timings"] == {
        "queue": 0.5, "encode": 0.25, "compile": 1, "denoise": 2, "decode": 0.125, "total": 3.875,
    }  # fmt: skip
