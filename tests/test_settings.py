"""Every ACCEL_UI_* variable: defaults, good values, one sentence for a bad one."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from accel_ui.settings import Settings, SettingsError, as_environment, load_settings

pytestmark = pytest.mark.usefixtures("environment_put_back")

ROOT = Path(__file__).parent.parent
NO_FILE = "/nonexistent/.env"


def load(env_file: Path | str = NO_FILE, **values: str) -> Settings:
    os.environ.update({f"ACCEL_UI_{name}": value for name, value in values.items()})
    return load_settings(env_file)


def refusal(**values: str) -> str:
    with pytest.raises(SettingsError) as error:
        load(**values)
    return str(error.value)


def test_nothing_set_gives_the_embedded_model_and_the_machines_best():
    settings = load()
    assert (settings.model, settings.device, settings.dtype, settings.mode) == ("tiny", "auto", "auto", "compile")
    assert (settings.warmup, settings.cold, settings.presets) == ("default", "auto", None)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("MODEL", "black-forest-labs/FLUX.1-schnell", "black-forest-labs/FLUX.1-schnell"),
        ("DEVICE", "neuron", "neuron"),
        ("DTYPE", "float16", "float16"),
        ("MODE", "eager-fused", "eager-fused"),
        ("COMPILE_COMPONENTS", "transformer, vae,", ("transformer", "vae")),
        ("COMPILE_BLOCKS", "1", True),
        ("COMPILE_BLOCKS", "false", False),
        ("MAX_QUEUE", "1000", 1000),
        ("TIME_LIMIT", "0.5", 0.5),
        ("PREVIEW_EVERY", "0", 0),
        ("CACHE_DIR", "~/somewhere", Path.home() / "somewhere"),
        ("OUTPUT_DIR", "pictures", Path.cwd() / "pictures"),
        ("WARMUP", "", "default"),
    ],
)
def test_good_value_is_used(name, text, value):
    assert getattr(load(**{name: text}), name.lower()) == value


@pytest.mark.parametrize(
    ("name", "text", "accepts"),
    [
        ("DEVICE", "gpu", "one of auto, cpu, cuda, xpu, mps, tpu, neuron"),
        ("DTYPE", "fp8", "one of auto, bfloat16, float16, float32"),
        ("MODE", "fast\nest", "one of compile, eager, eager-fused, eager-blocking"),
        ("COLD", "yes", "one of auto, eager, compile"),
        ("WARMUP", "some", "one of none, default, all"),
        ("TEXT_ENCODER_DEVICE", "cuda", "one of auto, cpu, device"),
        ("COMPILE_BLOCKS", "maybe", "true or false"),
        ("COMPILE_COMPONENTS", " , ", "comma-separated"),
        ("PRESETS", "/nowhere/presets.toml", "existing TOML file"),
        ("PRESETS", "/tmp", "existing TOML file"),
        ("PRESETS", "~nosuchuser/presets.toml", "existing TOML file"),
        ("CACHE_DIR", "~nosuchuser/cache", "folder"),
        ("MAX_QUEUE", "0", "from 1 to 1000"),
        ("MAX_QUEUE", "2.5", "a whole number"),
        ("MAX_QUEUE", "many", "a whole number"),
        ("PREVIEW_EVERY", "-1", "from 0 to 1000"),
        ("TIME_LIMIT", "0", "above 0"),
        ("TIME_LIMIT", "nan", "above 0"),
        ("TIME_LIMIT", "inf", "up to 86400"),
    ],
)
def test_bad_value_is_one_sentence_with_the_variable_and_what_it_accepts(name, text, accepts):
    message = refusal(**{name: text})
    assert f"ACCEL_UI_{name}" in message
    assert repr(text) in message
    assert accepts in message
    assert "\n" not in message
    assert message.endswith(".")


def test_misspelt_variable_is_refused_with_the_right_one():
    assert "did you mean ACCEL_UI_DEVICE?" in refusal(DEVIC="cpu")


@pytest.mark.parametrize("name", ["FOO_BAR", "HUGGING_FACE_TOKEN"])
def test_variable_that_resembles_none_points_to_the_list(name):
    message = refusal(**{name: "x"})
    assert f"ACCEL_UI_{name}" in message
    assert ".env.example" in message


def test_variables_of_others_are_left_alone():
    os.environ.update(GRADIO_SERVER_PORT="7000", HF_TOKEN="hf_x")
    assert load().model == "tiny"


def test_env_file_is_read_and_reaches_the_programs_below(tmp_path):
    """Gradio and huggingface_hub read their variables from the environment themselves."""
    file = tmp_path / ".env"
    file.write_text("# mine\nACCEL_UI_MAX_QUEUE=3\nGRADIO_SERVER_PORT=7999\n")
    assert load(file).max_queue == 3
    assert os.environ["GRADIO_SERVER_PORT"] == "7999"


def test_environment_wins_over_the_env_file(tmp_path):
    file = tmp_path / ".env"
    file.write_text("ACCEL_UI_MAX_QUEUE=3\n")
    assert load(file, MAX_QUEUE="4").max_queue == 4


def test_bad_value_in_the_env_file_is_refused_too(tmp_path):
    file = tmp_path / ".env"
    file.write_text("ACCEL_UI_MAX_QUEUE=0\n")
    with pytest.raises(SettingsError, match="ACCEL_UI_MAX_QUEUE"):
        load(file)


def test_another_process_gets_the_same_settings(tmp_path):
    presets = tmp_path / "presets.toml"
    presets.touch()
    settings = load(
        PRESETS=str(presets), COMPILE_COMPONENTS="unet,vae", COMPILE_BLOCKS="true", TIME_LIMIT="9.5", CACHE_DIR="cache"
    )
    os.environ.update(as_environment(settings))
    assert load_settings(NO_FILE) == settings


def test_example_env_file_can_be_used_as_it_is():
    """With its comment signs taken away, each line that sets a variable sets one that is accepted."""
    lines = [line.lstrip("# ") for line in (ROOT / ".env.example").read_text().splitlines()]
    pairs = dict(line.split("=", 1) for line in lines if re.match(r"ACCEL_UI_[A-Z_]+=", line))
    pairs.pop("ACCEL_UI_PRESETS", None)  # a file that only its owner has
    os.environ.update(pairs)
    assert load_settings(NO_FILE)
