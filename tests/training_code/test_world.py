"""The scene world: the same seed gives the same scene, and a caption says only what is in it."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from accel_ui.loading import TINY_FOLDER
from training.config import FORMATS
from training.export import BASIS_IN_EXPORT
from training.latents import LatentBasis
from training.world import Scene, SceneObject, caption, render, sample_scene
from training.world.captions import KIND_NAMES, POSITION_PHRASES
from training.world.spec import COLORS, KINDS


def drawn(seed: int, format_name: str) -> tuple[Scene, np.ndarray, str]:
    rng = random.Random(seed)
    scene = sample_scene(rng)
    image = render(scene, *FORMATS[format_name], rng).image
    return scene, np.asarray(image), caption(scene, rng)


@pytest.mark.parametrize("format_name", FORMATS)
def test_same_seed_same_picture_and_caption(format_name: str) -> None:
    first, second = drawn(5, format_name), drawn(5, format_name)
    assert first[0] == second[0]
    assert np.array_equal(first[1], second[1])
    assert first[2] == second[2]
    width, height = FORMATS[format_name]
    assert first[1].shape == (height, width, 3)


def test_training_never_sees_what_is_held_out() -> None:
    scenes = [sample_scene(random.Random(seed)) for seed in range(500)]
    assert not any(scene.is_held_out for scene in scenes)
    everything = [sample_scene(random.Random(seed), allow_held_out=True) for seed in range(500)]
    assert any(scene.has_held_out_color for scene in everything)
    assert any(scene.has_held_out_terrain for scene in everything)
    assert any(scene.is_held_out_combination for scene in everything)


def test_captions_name_only_what_the_scene_holds() -> None:
    for seed in range(600):
        rng = random.Random(seed)
        scene = sample_scene(rng)
        text = caption(scene, rng, clean=True).replace("white clouds", "clouds")
        words = text.replace(",", "").split()
        colors = {thing.color for thing in scene.objects}
        # These colours also belong to phrases about the ground and the sky.
        for color in set(COLORS) - {"green", "blue", "orange", "pink", "yellow"}:
            assert color not in words or color in colors, text
        kinds = {thing.kind for thing in scene.objects}
        for kind in set(KINDS) - kinds - {"pines"}:  # "a pine forest" is no pines
            assert not any(f" {name} " in f" {' '.join(words)} " for name in KIND_NAMES[kind]), text
        assert ("rainbow" in text) <= scene.rainbow, text
        assert ("moon" in words) <= ("moon" in scene.body), text


def test_named_places_are_the_objects_places() -> None:
    scene = Scene("day", "hills", objects=(SceneObject("house", "left", "red"),))
    texts = [caption(scene, random.Random(seed), clean=True) for seed in range(200)]
    assert any(phrase in text for text in texts for phrase in POSITION_PHRASES["left"])
    assert not any(phrase in text for text in texts for phrase in POSITION_PHRASES["right"])


@pytest.mark.parametrize(("place", "least", "most"), [("left", 0.85, 1.0), ("right", 0.2, 0.6)])
def test_moon_that_is_not_at_its_usual_place_is_named_there(place: str, least: float, most: float) -> None:
    scene = Scene("night", "hills", body="crescent moon", body_position=place)
    texts = [caption(scene, random.Random(seed), clean=True) for seed in range(400)]
    told = [any(phrase in text for phrase in POSITION_PHRASES[place]) for text in texts if "moon" in text]
    assert least <= sum(told) / len(told) <= most


@pytest.mark.parametrize(("tree", "bolt"), [("left", 0.8), ("right", 0.2)])
def test_lightning_strikes_beside_what_stands_there(tree: str, bolt: float) -> None:
    scene = Scene("storm", "hills", lightning=True, objects=(SceneObject("tree", tree, "green"),))
    for seed in range(5):
        red, _, blue = np.moveaxis(np.asarray(render(scene, 128, 128, random.Random(seed)).image, np.int16), 2, 0)
        _, columns = np.nonzero((red > 240) & (red - blue > 80))
        assert abs(columns.mean() / 128 - bolt) < 0.1


@pytest.mark.parametrize("format_name", FORMATS)
def test_objects_are_whole_and_apart(format_name: str) -> None:
    width, height = FORMATS[format_name]
    for seed in range(60):
        rng = random.Random(seed)
        scene = sample_scene(rng)
        boxes = render(scene, width, height, rng).boxes[-len(scene.objects) :] if scene.objects else ()
        for left, _, right, bottom in boxes:
            assert left >= 0
            assert right <= width
            assert bottom <= height
        if len(boxes) == 2 and all(thing.kind != "balloon" for thing in scene.objects):
            first, second = sorted(boxes)
            assert first[2] <= second[0] + 0.05 * width


@pytest.mark.parametrize("time", ["day", "storm"])
def test_rain_is_thick_enough_for_the_latents(time: str) -> None:
    """What the latents lose no training can bring back: they keep at least 70 % of what rain adds to a picture."""
    dry = Scene(time, "hills", objects=(SceneObject("house", "left", "red"),))
    pictures = [render(replace(dry, rain=rain), *FORMATS["square"], random.Random(1)).image for rain in (True, False)]
    basis = LatentBasis.load(TINY_FOLDER / BASIS_IN_EXPORT)
    wet, clear = basis(torch.from_numpy(np.stack([np.asarray(picture) for picture in pictures])))
    seen = torch.linalg.pinv(basis.encode.T) @ (wet - clear).flatten(1)
    drawn_pixels = np.subtract(*[np.asarray(picture, np.float32) / 127.5 for picture in pictures])
    assert seen.square().sum() / np.square(drawn_pixels).sum() > 0.7
