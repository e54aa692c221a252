"""Presets: frozen numbers, the TOML file, and sizes against real pipeline classes of diffusers."""

from __future__ import annotations

import dataclasses
import inspect

import diffusers
import pytest

from accel_ui.presets import Preset, PresetError, check_sizes, derived_presets, read_presets, size_factor

NUMBERS = "height = 64\nwidth = 96\nsteps = 2\n"


def bare(name: str):
    """A real pipeline class without weights: its own defaults and size rules are all that is asked of it."""
    cls = getattr(diffusers, name)
    required = [
        parameter.name
        for parameter in inspect.signature(cls.__init__).parameters.values()
        if parameter.default is inspect.Parameter.empty and parameter.name != "self"
    ]
    return cls(**dict.fromkeys(required))


@pytest.fixture
def toml(tmp_path):
    def write(text: str | bytes):
        path = tmp_path / "presets.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_preset_cannot_be_changed():
    preset = Preset("square", "Square", 64, 64, 4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        preset.steps = 5


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"id": "Square"}, "lower-case"),
        ({"id": "a b"}, "lower-case"),
        ({"id": "../up"}, "lower-case"),
        ({"id": ""}, "lower-case"),
        ({"id": 7}, "lower-case"),
        ({"height": 0}, "height=0 must be a whole number from 16 to 8192"),
        ({"width": 10**6}, "width=1000000 must be a whole number"),
        ({"height": 64.0}, "height=64.0 must be a whole number"),
        ({"height": "64"}, "height='64' must be a whole number"),
        ({"steps": True}, "steps=True must be a whole number from 1 to 500"),
        ({"steps": 10**6}, "steps=1000000"),
        ({"images": 17}, "images=17 must be a whole number from 1 to 16"),
        ({"max_sequence_length": None}, "max_sequence_length=None"),
        ({"guidance_scale": float("nan")}, "guidance_scale=nan must be a number from 0 to 100"),
        ({"guidance_scale": float("inf")}, "guidance_scale=inf"),
        ({"true_cfg_scale": -1}, "true_cfg_scale=-1"),
        ({"label": 5}, "label=5"),
        ({"label": " "}, "label=' '"),
    ],
    ids=str,
)
def test_value_that_cannot_be_drawn_is_refused_by_name(values, words):
    with pytest.raises(PresetError) as error:
        Preset(**{"id": "square", "label": "Square", "height": 64, "width": 64, "steps": 4, **values})
    assert words in str(error.value)


def test_summary_is_width_by_height():
    assert Preset("draft", "Draft", 64, 96, 1).summary == "96 x 64, 1 step"
    assert Preset("draft", "Draft", 64, 96, 2).summary == "96 x 64, 2 steps"


def test_steps_share_a_graph_and_sizes_do_not():
    preset = Preset("a", "A", 64, 64, 4)
    assert dataclasses.replace(preset, steps=8).shape_key(False) == preset.shape_key(False)
    assert dataclasses.replace(preset, width=96).shape_key(False) != preset.shape_key(False)
    assert preset.shape_key(True) != preset.shape_key(False)


def test_toml_file_gives_presets_in_its_order(toml):
    wide, poster = read_presets(
        toml(
            f'[presets.wide]\n{NUMBERS}\n[presets.poster]\n{NUMBERS}label = "Plakat 🖼"\nguidance_scale = 3\nimages = 2\n'
        )
    )
    assert (wide.id, wide.label, wide.height, wide.width, wide.steps, wide.images) == ("wide", "Wide", 64, 96, 2, 1)
    assert (poster.label, poster.guidance_scale, poster.images) == ("Plakat 🖼", 3, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[presets.square\n", "cannot be read as TOML"),
        (b"\xff\xfe\x00", "cannot be read as TOML"),
        ("", "has no preset"),
        ("presets = 5", "has no preset"),
        (f"[square]\n{NUMBERS}", "has no preset"),
        (f"[[presets]]\n{NUMBERS}", "has no preset"),
        ("[presets]\nheight = 64", "has no preset"),
        (f"[presets.square]\n{NUMBERS}hieght = 64", "unknown field 'hieght'"),
        (f"[presets.square]\n{NUMBERS}id = 'x'", "unknown field 'id'"),
        ("[presets.square]\nheight = 64", "lacks steps, width"),
        (f"[presets.Square]\n{NUMBERS}", "lower-case"),
        (f"[presets.square]\n{NUMBERS}images = 99", "images=99"),
        (f"[presets.square]\n{NUMBERS}guidance_scale = nan", "guidance_scale=nan"),
        (f"[presets.square]\n{NUMBERS}label = 5", "label"),
    ],
)
def test_bad_toml_file_is_named_with_what_to_change(toml, text, words):
    path = toml(text)
    with pytest.raises(PresetError) as error:
        read_presets(path)
    assert str(path) in str(error.value)
    assert words in str(error.value)


def test_missing_toml_file_is_named(tmp_path):
    with pytest.raises(PresetError, match=r"none\.toml"):
        read_presets(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("height", "width", "words"),
    [(1080, 1920, "height=1080 must be divisible by 16 for this model; use 1072 or 1088"),
     (1024, 1000, "width=1000 must be divisible by 16 for this model; use 992 or 1008")],
)  # fmt: skip
def test_size_that_would_be_rounded_is_refused_with_its_neighbours(height, width, words):
    with pytest.raises(PresetError, match=words):
        check_sizes([Preset("wide", "Wide", height, width, 4)], 16)


def test_size_below_the_factor_names_the_smallest():
    with pytest.raises(PresetError, match="use 32"):
        check_sizes([Preset("mini", "Mini", 16, 64, 4)], 32)


def test_sizes_that_divide_pass():
    check_sizes([Preset("square", "Square", 1024, 768, 4)], 16)


# What each class does with a size of its own accord (diffusers 0.42.1).
@pytest.mark.parametrize(
    ("name", "factor", "side"),
    [
        ("FluxPipeline", 16, 1024),
        ("Flux2KleinPipeline", 16, 1024),
        ("StableDiffusion3Pipeline", 16, 1024),
        ("StableDiffusionXLPipeline", 8, 1024),
        ("StableDiffusionPipeline", 8, 512),
        ("SanaPipeline", 32, 1024),
    ],
)
def test_unknown_model_gets_presets_from_its_pipelines_defaults(name, factor, side):
    pipeline = bare(name)
    assert size_factor(pipeline) == factor
    presets = {preset.id: preset for preset in derived_presets(pipeline)}
    assert list(presets) == ["square", "landscape", "portrait", "draft"]
    check_sizes(list(presets.values()), factor)
    assert presets["square"].height == presets["square"].width == side
    assert presets["landscape"].width > presets["landscape"].height
    assert presets["portrait"].height > presets["portrait"].width
    assert presets["draft"].height == side // 2
    defaults = inspect.signature(type(pipeline).__call__).parameters
    assert presets["square"].steps == defaults["num_inference_steps"].default
    assert presets["square"].guidance_scale == defaults["guidance_scale"].default
