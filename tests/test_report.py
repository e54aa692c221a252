"""What `doctor` says, as data and as words: about this machine, and about what is wrong."""

from __future__ import annotations

import json

import pytest

from accel_ui.decisions import Decision
from accel_ui.report import diagnose, in_words
from accel_ui.settings import Settings


@pytest.fixture
def settings(tmp_path):
    def make(**values) -> Settings:
        return Settings(**{"cache_dir": tmp_path / "cache", "output_dir": tmp_path / "out", **values})

    return make


def test_decision_is_one_line():
    assert str(Decision("dtype", "bfloat16", "the GPU computes it natively")) == (
        "dtype: bfloat16 (the GPU computes it natively)"
    )


def test_machine_that_can_serve_says_everything(settings):
    report = json.loads(json.dumps(diagnose(settings())))
    assert report["problem"] is None
    assert {"python", "torch", "diffusers", "gradio"} <= set(report["versions"])
    assert set(report["devices"]) == {"tpu", "neuron", "cuda", "xpu", "mps", "cpu"}
    assert [row["id"] for row in report["presets"]] == ["square", "landscape", "portrait", "draft", "large"]
    assert {row["component"] for row in report["components"]} == {
        "transformer",
        "vae",
        "text_encoder",
        "text_encoder_2",
    }
    assert {row["subject"] for row in report["decisions"]} == {"device", "dtype", "placement", "mode", "cold presets"}
    assert all(row["reason"] for row in report["decisions"] + report["components"])
    assert set(report["folders"]) == {"ACCEL_UI_CACHE_DIR", "ACCEL_UI_OUTPUT_DIR"}
    assert report["kept_graphs"] == []


def test_words_hold_what_the_data_holds(settings):
    text = in_words(diagnose(settings(mode="eager", dtype="bfloat16")))
    for part in (
        "torch 2.",
        "cuda    no",
        "this torch was built without CUDA",
        "Model       tiny",
        "on cpu",
        "mode: eager (ACCEL_UI_MODE=eager)",
        "dtype: bfloat16 (ACCEL_UI_DTYPE asks for it)",
        "128 x 128, 8 steps",
        "160 x 96, 8 steps",
        "ACCEL_UI_CACHE_DIR: ",
        "0 kept on disk",
    ):
        assert part in text
    assert text.endswith("This machine can serve the model.")


def test_kept_graphs_are_counted(settings, tmp_path):
    (tmp_path / "cache" / "artifacts" / "vae-square-0123456789ab").mkdir(parents=True)
    (tmp_path / "cache" / "artifacts" / ".draft-x").mkdir()
    report = diagnose(settings())
    assert report["kept_graphs"] == ["vae-square-0123456789ab"]
    assert "1 kept on disk" in in_words(report)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"model": "/nowhere/at/all"}, "no folder here"),
        ({"model": "/tmp"}, "without model_index.json"),
        ({"model": "someone/never-downloaded"}, "HF_HUB_OFFLINE"),
        ({"device": "cuda"}, "ACCEL_UI_DEVICE=cuda, but this torch was built without CUDA"),
        ({"device": "neuron"}, "ACCEL_UI_DEVICE=neuron, but torch_neuronx is not installed"),
        ({"mode": "eager-fused"}, "ACCEL_UI_MODE=eager-fused does not exist on cpu"),
    ],
    ids=str,
)
def test_problem_is_the_last_line(settings, values, words):
    report = diagnose(settings(**values))
    assert words in report["problem"]
    assert in_words(report).splitlines()[-1] == report["problem"]


@pytest.mark.parametrize("field", ["cache_dir", "output_dir"])
def test_folder_that_cannot_be_written_is_named(settings, tmp_path, field):
    (tmp_path / "file").touch()
    report = diagnose(settings(**{field: tmp_path / "file" / "below"}))
    assert f"ACCEL_UI_{field.upper()}={tmp_path / 'file' / 'below'} cannot be written" in report["problem"]


def test_presets_of_ones_own_that_the_model_cannot_draw(settings, tmp_path):
    file = tmp_path / "presets.toml"
    file.write_text("[presets.wide]\nheight = 100\nwidth = 128\nsteps = 4\n")
    assert "height=100 must be divisible by 16" in diagnose(settings(presets=file))["problem"]
