"""All decisions before a weight is loaded, on made-up machines: no accelerator is here."""

from __future__ import annotations

import shutil

import pytest

from accel_ui import backends
from accel_ui.backends import Detection
from accel_ui.errors import UserError
from accel_ui.loading import TINY_FOLDER, read_sizes, resolve_model
from accel_ui.settings import Settings
from accel_ui.survey import survey
from test_backends import Family

WEIGHTS = sum(size.bytes_as("bfloat16") for size in read_sizes(resolve_model("tiny")))


@pytest.fixture
def machine(monkeypatch):
    """Makes this machine one with a single accelerator that has room for `share` times the embedded model."""

    def have(share: float = 100, **traits) -> None:
        detection = Detection(True, "1 x made-up", "made:0", "made-up", int(share * WEIGHTS))
        family = Family("made", detection)
        for name, value in traits.items():
            setattr(family, name, value)
        monkeypatch.setattr(backends, "BACKENDS", (family,))

    return have


def decide(**settings) -> dict[str, tuple[str, str]]:
    return {decision.subject: (decision.value, decision.reason) for decision in survey(Settings(**settings)).decisions}


def test_room_for_everything_means_compiled_graphs(machine):
    machine()
    decisions = decide()
    assert {subject: value for subject, (value, _) in decisions.items()} == {
        "device": "made", "dtype": "bfloat16", "placement": "whole", "mode": "compile", "cold presets": "eager",
    }  # fmt: skip
    assert all(reason for _, reason in decisions.values())


@pytest.mark.parametrize(("share", "strategy"), [(4.2, "model offload"), (0.9, "sequential offload")])
def test_offload_rules_out_graphs_and_it_is_said(machine, share, strategy):
    machine(share, offloads=True)
    plan = survey(Settings(text_encoder_device="device"))
    decisions = {decision.subject: decision for decision in plan.decisions}
    assert decisions["placement"].value == strategy
    assert (plan.mode, decisions["mode"].value) == ("eager", "eager")
    assert f"{strategy} moves weights during a run" in decisions["mode"].reason
    assert "cold presets" not in decisions


@pytest.mark.parametrize(
    ("settings", "subject", "value", "reason"),
    [
        ({"dtype": "float32"}, "dtype", "float32", "ACCEL_UI_DTYPE asks for it"),
        ({"mode": "eager"}, "mode", "eager", "ACCEL_UI_MODE=eager"),
        ({"cold": "compile"}, "cold presets", "compile", "ACCEL_UI_COLD asks for it"),
        ({"text_encoder_device": "cpu"}, "placement", "split", "ACCEL_UI_TEXT_ENCODER_DEVICE asks for it"),
    ],
    ids=str,
)
def test_wish_is_obeyed_and_named(machine, settings, subject, value, reason):
    machine()
    assert decide(**settings)[subject][0] == value
    assert reason in decide(**settings)[subject][1]


def test_device_whose_eager_mode_compiles_makes_cold_presets_wait(machine):
    machine(eager_at_once=False)
    value, reason = decide()["cold presets"]
    assert value == "compile"
    assert "op by op" in reason


def test_device_that_cannot_compile_is_eager_with_its_reason(machine):
    machine(compile_obstacle=lambda: "no C++ compiler was found")
    assert decide()["mode"] == ("eager", "no C++ compiler was found")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"mode": "eager-fused"}, "ACCEL_UI_MODE=eager-fused does not exist on made"),
        ({"text_encoder_device": "device"}, "set it to auto"),
    ],
    ids=str,
)
def test_wish_that_cannot_be_granted_is_refused(machine, settings, words):
    machine(4.8)
    with pytest.raises(UserError, match=words):
        survey(Settings(**settings))


def test_known_model_has_its_presets_before_it_is_loaded_and_an_unknown_one_none(machine, tmp_path):
    machine()
    assert [preset.id for preset in survey(Settings()).presets] == ["square", "landscape", "portrait", "draft", "large"]
    folder = shutil.copytree(TINY_FOLDER, tmp_path / "mine", ignore=shutil.ignore_patterns("*.png"))
    assert survey(Settings(model=str(folder))).presets is None


def test_presets_of_ones_own_replace_those_of_the_catalogue(machine, tmp_path):
    machine()
    file = tmp_path / "presets.toml"
    file.write_text("[presets.wide]\nheight = 96\nwidth = 192\nsteps = 6\nmax_sequence_length = 32\n")
    (preset,) = survey(Settings(presets=file)).presets
    assert (preset.id, preset.height, preset.width) == ("wide", 96, 192)
