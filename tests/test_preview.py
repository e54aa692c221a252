"""The thumbnails of a run: like the picture it ends in, learned from finished pictures, few reads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from accel_ui.presets import Preset
from accel_ui.preview import MOST, Preview, PreviewTap, predicted, token_grid
from accel_ui.requests import Done, Step


def test_previews_resemble_the_picture_before_it_is_there(make_manager):
    manager = make_manager(mode="eager", preview_every=2)
    for seed, prompt in enumerate(
        ["a red house at night", "a sailboat on the sea at sunset", "a green hill on a sunny day"]
    ):
        list(manager.generate(manager.request(prompt, "square", seed)))
    events = list(manager.generate(manager.request("a white lighthouse on the sea on a sunny day", "landscape", 9)))
    previews = {event.index: event.preview for event in events if isinstance(event, Step) and event.preview}
    assert sorted(previews) == [2, 4, 6]
    assert isinstance(events[-1], Done)
    final = np.asarray(events[-1].result.images[0].resize((40, 24), Image.Resampling.BOX), dtype=float)
    for index, preview in previews.items():
        assert preview.size == (40, 24)
        similarity = np.corrcoef(np.asarray(preview, dtype=float).ravel(), final.ravel())[0, 1]
        assert similarity > (0.8 if index == 2 else 0.9)


def test_zero_turns_them_off(make_manager):
    manager = make_manager(mode="eager", preview_every=0)
    for _ in range(3):
        events = list(manager.generate(manager.request("a red house", "draft", 1)))
        assert not [event for event in events if isinstance(event, Step) and event.preview]


@pytest.mark.parametrize("noise", [0.7, 1.9])
def test_prediction_is_the_end_of_a_straight_path(noise):
    clean, direction = np.full((2, 2, 3), 4.0), np.full((2, 2, 3), noise)
    before, now = clean + 0.8 * direction, clean + 0.5 * direction
    np.testing.assert_allclose(predicted(before, now, 0.8, 0.5), clean)


def test_both_layouts_of_latents_become_one_grid():
    packed = torch.arange(6 * 4.0).reshape(1, 6, 4)
    assert token_grid(packed, 32, 48).shape == (2, 3, 4)
    planes = torch.zeros(1, 4, 2, 3)
    assert token_grid(planes, 16, 24).shape == (2, 3, 4)
    assert token_grid(torch.zeros(1, 7, 4), 32, 48) is None


@pytest.mark.parametrize("steps", [8, 40, 400])
def test_number_of_thumbnails_does_not_grow_with_the_steps(steps):
    class Scheduler:
        sigmas = torch.linspace(1, 0, steps + 1)

    preview = Preview()
    preset = Preset("square", "Square", 64, 64, steps)
    for _ in range(2):
        tap = PreviewTap(preview, 1, preset)
        shots = [tap.after_step(Scheduler, index, torch.rand(1, 4, 8, 8)) for index in range(1, steps + 1)]
        tap.finished(np.random.rand(64, 64, 3))
    assert 1 <= sum(shot is not None for shot in shots) <= MOST
