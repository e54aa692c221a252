"""Sentences for visitors name no folder, and say the rest unchanged."""

from __future__ import annotations

import pytest

from accel_ui.privacy import public


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("ACCEL_UI_CACHE_DIR=/home/me/cache cannot be written", "ACCEL_UI_CACHE_DIR=…/cache cannot be written"),
        ("The weight file /opt/models/flux/vae/a.safetensors is damaged.", "The weight file …/a.safetensors is damaged."),
        ("'/srv/presets.toml' and ~/x/y.toml", "'…/presets.toml' and …/y.toml"),
        (r"C:\Users\me\x.txt", "…/x.txt"),
        ("`sudo lsof -w /dev/vfio/* /dev/accel*` shows which", "`sudo lsof -w /dev/vfio/* /dev/accel*` shows which"),
        ("black-forest-labs/FLUX.1-schnell", "black-forest-labs/FLUX.1-schnell"),
        ("https://huggingface.co/a/b, 1/2 of it", "https://huggingface.co/a/b, 1/2 of it"),
        ("transformer-square: compiled in 20 s; 8/8 steps", "transformer-square: compiled in 20 s; 8/8 steps"),
    ],
)  # fmt: skip
def test_folders_are_cut(said, shown):
    assert public(said) == shown


def test_plain_data_is_gone_through():
    assert public({"a": ["/x/y/z", 5], "b": ({"c": "/x/y"},)}) == {"a": ["…/z", 5], "b": [{"c": "…/y"}]}
