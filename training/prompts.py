"""The evaluation's fixed questions: plain prompts that name every factor of scenes never seen in training."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from .world import Scene, SceneObject, sample_scene
from .world.captions import with_article

KIND_NAMES = {"balloon": "hot air balloon", "pines": "pine trees"}
PLACES = {"left": "on the left", "center": "in the middle", "right": "on the right"}
TERRAINS = {
    "hills": "on green hills",
    "mountains": "in front of snowy mountains",
    "sea": "on the sea",
    "desert": "in the desert",
    "snow": "in the snow",
    "forest": "in a forest",
    "lake": "on a mountain lake",
    "meadow": "in a flower meadow",
}
TIMES = {
    "day": "on a sunny day",
    "sunset": "at sunset",
    "dawn": "at dawn",
    "night": "at night",
    "storm": "under a stormy sky",
}


@dataclass(frozen=True)
class Question:
    """A prompt and the scene it describes."""

    prompt: str
    scene: Scene
    extras: tuple[str, ...]  # the sky factors that the prompt names


@dataclass(frozen=True)
class Exam:
    """A kind of question: which scenes it is about."""

    name: str
    count: int
    admits: Callable[[Scene], bool]


def _plain(scene: Scene) -> bool:
    """Kept out of training by the hash alone."""
    return scene.is_held_out_combination and not scene.has_held_out_color and not scene.has_held_out_terrain


EXAMS = (
    Exam("one object", 140, lambda scene: len(scene.objects) == 1 and _plain(scene)),
    Exam("two objects", 100, lambda scene: len(scene.objects) == 2 and _plain(scene)),
    Exam(
        "three factors",
        100,
        lambda scene: len(scene.objects) == 1 and _plain(scene) and bool(sky_extras(scene)),
    ),
    Exam(
        "held-out colour",
        80,
        lambda scene: len(scene.objects) == 1 and scene.has_held_out_color and not scene.has_held_out_terrain,
    ),
    Exam(
        "held-out scene",
        80,
        lambda scene: len(scene.objects) == 1 and scene.has_held_out_terrain and not scene.has_held_out_color,
    ),
)


def questions(exam: Exam, seed: int = 0) -> list[Question]:
    """The questions of an exam, always the same."""
    found, index = [], 0
    while len(found) < exam.count:
        scene = sample_scene(random.Random(f"{seed}/exam/{exam.name}/{index}"), allow_held_out=True)
        index += 1
        if exam.admits(scene):
            found.append(Question(full_prompt(scene), scene, tuple(sky_extras(scene))))
    return found


def full_prompt(scene: Scene) -> str:
    """ "a red house on the left and a blue tent on the right in the snow at night, a full moon" """
    things = " and ".join(f"{_noun(thing)} {PLACES[thing.position]}" for thing in scene.objects)
    text = " ".join(part for part in (things, TERRAINS[scene.terrain], TIMES[scene.time]) if part)
    return ", ".join([text, *sky_extras(scene).values()])


def sky_extras(scene: Scene) -> dict[str, str]:
    """What the sky holds that a prompt does not get for free, by the judge's name of the factor."""
    extras = {}
    if "moon" in scene.body:
        extras["body"] = f"a {scene.body}"
    if scene.rainbow:
        extras["rainbow"] = "a rainbow"
    if scene.aurora:
        extras["aurora"] = "northern lights"
    if scene.lightning:
        extras["lightning"] = "lightning"
    if scene.rain:
        extras["rain"] = "rain"
    return extras


def _noun(thing: SceneObject) -> str:
    name = KIND_NAMES.get(thing.kind, thing.kind)
    if thing.color:
        name = f"{thing.color} {name}"
    return name if thing.kind == "pines" else with_article(name)
