"""Links: what they carry, and what they may not do."""

from __future__ import annotations

import pytest

from accel_ui.ui.share import Shared, read_link

PRESETS = ["square", "draft"]


def test_link_carries_prompt_preset_and_seed():
    shared = read_link({"prompt": "a red house 🏠", "preset": "draft", "seed": "7", "__theme": "dark"}, PRESETS)
    assert shared == Shared("a red house 🏠", "draft", "7", "")


def test_link_without_anything_changes_nothing():
    assert read_link({}, PRESETS) == Shared()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"preset": "4096x4096"}, "no preset '4096x4096'"),
        ({"seed": "-1"}, "seed '-1' cannot be used"),
        ({"seed": "9" * 30}, "cannot be used"),
        ({"prompt": "x" * 20_000}, "shorten it"),
        ({"prompt": ""}, "prompt is empty"),
    ],
)
def test_value_that_cannot_be_used_is_left_out_and_said(query, words):
    shared = read_link({"prompt": "a red house", "preset": "draft", "seed": "7", **query}, PRESETS)
    (name,) = query
    assert getattr(shared, name) is None
    assert words in shared.notice
    assert sum(value is None for value in (shared.prompt, shared.preset, shared.seed)) == 1
