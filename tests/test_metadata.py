"""Parameters from a picture: ours, AUTOMATIC1111's, another program's, damaged ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from accel_ui.catalogue import TINY
from accel_ui.metadata import FOREIGN_KEY, OUR_KEY, restore, text_chunk

PRESETS = {preset.id: preset for preset in TINY.presets}
OURS = {"prompt": "a red house 🏠", "negative_prompt": "stars", "seed": 2**63 - 1, "preset": "portrait", "model": "tiny",
        "width": 96, "height": 160, "steps": 8}  # fmt: skip
FOREIGN = """a cat, (masterpiece:1.2), <lora:x:1>
on two lines
Negative prompt: dog, blurry
Steps: 20, Sampler: Euler a, CFG scale: 7, Seed: 965400086, Size: 160x96, Model hash: abc, Model: dreamshaper, Version: v1.6.0"""


def png(path, key=None, text=""):
    chunk = PngImagePlugin.PngInfo()
    if key:
        chunk.add_text(key, text)
    Image.new("RGB", (8, 8)).save(path, pnginfo=chunk)
    return path


def test_our_picture_restores_everything(tmp_path):
    path = tmp_path / "ours.png"
    Image.new("RGB", (8, 8)).save(path, pnginfo=text_chunk(OURS))
    found = restore(path, PRESETS, "tiny")
    assert (found.prompt, found.negative_prompt, found.seed, found.preset) == (
        "a red house 🏠",
        "stars",
        2**63 - 1,
        "portrait",
    )
    assert found.notices == ()


def test_other_model_and_missing_size_are_said(tmp_path):
    path = tmp_path / "ours.png"
    Image.new("RGB", (8, 8)).save(
        path, pnginfo=text_chunk({**OURS, "width": 1024, "model": "black-forest-labs/FLUX.1-schnell"})
    )
    found = restore(path, PRESETS, "tiny")
    assert found.preset is None
    assert any("1024 x 160" in notice for notice in found.notices)
    assert any("FLUX.1-schnell" in notice for notice in found.notices)


def test_automatic1111_picture_restores_prompt_seed_and_size(tmp_path):
    found = restore(png(tmp_path / "foreign.png", FOREIGN_KEY, FOREIGN), PRESETS, "tiny")
    assert found.prompt == "a cat, (masterpiece:1.2), <lora:x:1>\non two lines"
    assert (found.negative_prompt, found.seed, found.preset) == ("dog, blurry", 965400086, "landscape")
    assert any("dreamshaper" in notice for notice in found.notices)


@pytest.mark.parametrize("content", [b"", b"no picture", b"\x89PNG\r\n\x1a\n" + b"x" * 100])
def test_file_that_is_no_picture_gets_a_sentence(tmp_path, content):
    path = tmp_path / "file.png"
    path.write_bytes(content)
    assert restore(path, PRESETS, "tiny").notices == (
        "This picture carries no parameters: drop a PNG as it was downloaded here.",
    )


def test_picture_without_parameters_gets_a_sentence(tmp_path):
    assert "carries no parameters" in restore(png(tmp_path / "plain.png"), PRESETS, "tiny").notices[0]


@given(
    st.sampled_from([OUR_KEY, FOREIGN_KEY]),
    st.text(max_size=300) | st.sampled_from(["[]", "5", '{"seed": "x", "prompt": {}}']),
)
def test_whatever_a_chunk_holds_nothing_is_raised(tmp_path_factory, key, text):
    path = png(tmp_path_factory.getbasetemp() / "fuzz.png", key, text.encode("latin-1", "ignore").decode("latin-1"))
    found = restore(path, PRESETS, "tiny")
    assert isinstance(found.prompt, str)
    assert found.notices or found.seed is not None
