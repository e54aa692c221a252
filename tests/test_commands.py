"""The commands, as a person types them."""

from __future__ import annotations

import json

import pytest

from accel_ui.metadata import read_info
from conftest import run_command


@pytest.fixture
def env(tmp_path):
    return {"ACCEL_UI_CACHE_DIR": str(tmp_path / "cache"), "ACCEL_UI_OUTPUT_DIR": str(tmp_path / "out")}


def test_doctor_tells_the_plan_and_why(env):
    done = run_command("doctor", env=env)
    for words in (
        "cpu     yes",
        "cuda    no",
        "transformer",
        "on cpu",
        "placement: whole",
        "square",
        "can serve the model",
    ):
        assert words in done.stdout
    report = json.loads(run_command("doctor", "--json", env=env).stdout)
    assert report["problem"] is None
    assert all(decision["reason"] for decision in report["decisions"])
    assert {row["component"] for row in report["components"]} == {
        "transformer",
        "vae",
        "text_encoder",
        "text_encoder_2",
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ACCEL_UI_MODEL": "/nowhere"}, "no folder here"),
        ({"ACCEL_UI_DEVICE": "cuda"}, "ACCEL_UI_DEVICE=cuda"),
        ({"ACCEL_UI_CACHE_DIR": "/proc/none"}, "ACCEL_UI_CACHE_DIR"),
    ],
)
def test_doctor_ends_with_1_and_says_what_to_change(env, change, words):
    done = run_command("doctor", env={**env, **change}, check=False)
    assert done.returncode == 1
    assert words in done.stdout
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("ACCEL_UI_DEVICE", "gpu", "one of auto, cpu, cuda"),
        ("ACCEL_UI_MAX_QUEUE", "many", "whole number"),
        ("ACCEL_UI_TIME_LIMIT", "-3", "number of seconds"),
        ("ACCEL_UI_PRESETS", "/no/file.toml", "TOML"),
        ("ACCEL_UI_PRESET", "square", "did you mean ACCEL_UI_PRESETS"),
    ],
)
def test_bad_setting_ends_the_start_with_one_sentence(env, variable, value, words):
    done = run_command("doctor", env={**env, variable: value}, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert variable in done.stderr
    assert words in done.stderr


def test_generate_writes_the_picture_where_it_is_asked_to(env, tmp_path):
    file = tmp_path / "new folder" / "house.png"
    eager = {**env, "ACCEL_UI_MODE": "eager"}
    arguments = ("generate", "a red house", "--preset", "draft", "--seed", "3", "--output", str(file), "--json")
    info = json.loads(run_command(*arguments, env=eager).stdout)
    assert info.pop("path") == str(file)
    assert read_info(file) == info
    assert (info["seed"], info["preset"], info["mode"]) == (3, "draft", "eager")


def test_generate_refuses_with_a_sentence(env):
    done = run_command("generate", "a red house", "--seed", "-1", env=env, check=False)
    assert done.returncode == 1
    assert "seed" in done.stderr
    done = run_command("warmup", "--preset", "nope", env=env, check=False)
    assert done.returncode == 1
    assert "no preset 'nope'" in done.stderr


def test_presets_of_ones_own(env, tmp_path):
    file = tmp_path / "presets.toml"
    file.write_text("[presets.wide]\nheight = 96\nwidth = 192\nsteps = 2\nmax_sequence_length = 32\n")
    own = {**env, "ACCEL_UI_PRESETS": str(file), "ACCEL_UI_MODE": "eager"}
    info = json.loads(run_command("generate", "a red house", "--json", env=own).stdout)
    assert (info["preset"], info["width"], info["height"], info["steps"]) == ("wide", 192, 96, 2)
    file.write_text("[presets.wide]\nheight = 100\nwidth = 192\nsteps = 2\n")
    done = run_command("doctor", env=own, check=False)
    assert "height=100 must be divisible by 16 for this model; use 96 or 112" in done.stdout
