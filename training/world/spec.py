"""What a scene may hold, how scenes are drawn at random, and which ones are kept out of training.

A `Scene` is the full truth about a picture: the captions are written from it, and the judge is trained on it.
Everything here depends on the `random.Random` that is handed in and on nothing else.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field

TIMES = ("day", "sunset", "dawn", "night", "storm")
TIME_WEIGHTS = (26, 20, 14, 26, 14)
TERRAINS = ("hills", "mountains", "sea", "desert", "snow", "forest", "lake", "meadow")
TERRAIN_WEIGHTS = (17, 14, 18, 11, 13, 10, 8, 9)
LAND = frozenset(TERRAINS) - {"sea", "lake"}
POSITIONS = ("left", "center", "right")
SKY_BODIES = ("none", "sun", "full moon", "crescent moon")

COLORS = ("red", "blue", "yellow", "green", "white", "orange", "purple", "pink")
TREE_COLORS = ("green", "orange", "pink", "red", "yellow")
COLORED_KINDS = frozenset({"house", "castle", "windmill", "tent", "balloon", "sailboat", "lighthouse", "tree"})
KINDS_ON = {
    "hills": ("house", "tree", "castle", "windmill", "tent", "balloon"),
    "mountains": ("house", "castle", "tent", "balloon", "pines"),
    "sea": ("sailboat", "lighthouse", "balloon"),
    "desert": ("cactus", "tent", "balloon", "castle", "pyramid"),
    "snow": ("house", "pines", "castle", "tent", "windmill", "balloon"),
    "forest": ("house", "tent", "castle", "balloon"),
    "lake": ("sailboat", "balloon"),
    "meadow": ("house", "tree", "windmill", "balloon", "tent"),
}
SKY_HIGH_KINDS = frozenset({"balloon", "castle", "windmill", "lighthouse"})  # reach up to the sun or the moon
SKY_PLACES = ("right", "left", "center")  # in this order, the first free one is a moon's or a bolt's usual place
KINDS = tuple(sorted({kind for kinds in KINDS_ON.values() for kind in kinds}))

# Kept out of training for good, so that evaluation can ask for what was never shown.
HELD_OUT_COLORS = frozenset({
    ("house", "purple"), ("sailboat", "green"), ("windmill", "blue"), ("lighthouse", "orange"),
    ("tent", "white"), ("balloon", "pink"), ("castle", "yellow"), ("tree", "yellow"),
})  # fmt: skip
HELD_OUT_TERRAINS = frozenset({("desert", "castle"), ("snow", "windmill"), ("forest", "tent")})
# One combination (time, terrain, kinds, colours, places) in this many is held out too.
HELD_OUT_ONE_IN = 16

OBJECT_COUNT_WEIGHTS = (7, 46, 47)  # no object, one, two: two is the hard case, so it is shown most
FAR_APART_SHARE = 0.5  # of the pairs stand left and right, over and above the even draw
GREEN_TREE_SHARE = 0.4  # over and above the even draw: most trees are green
BIRDS_SHARE = 0.1
# Moons mostly stand at their usual place, and elsewhere captions say so: where anything goes, few steps draw two.
USUAL_MOON_SHARE = 0.75
MAX_TRIES = 1000


@dataclass(frozen=True)
class SceneObject:
    """One thing standing, sailing or flying in the scene."""

    kind: str
    position: str
    color: str | None = None


@dataclass(frozen=True)
class Scene:
    """Every factor of a picture that a caption may name or a judge may read."""

    time: str
    terrain: str
    body: str = "none"
    body_position: str = "center"
    stars: bool = False
    aurora: bool = False
    clouds: bool = False
    rainbow: bool = False
    lightning: bool = False
    rain: bool = False
    birds: bool = False
    objects: tuple[SceneObject, ...] = field(default=())

    @property
    def has_held_out_color(self) -> bool:
        return any((thing.kind, thing.color) in HELD_OUT_COLORS for thing in self.objects)

    @property
    def has_held_out_terrain(self) -> bool:
        return any((self.terrain, thing.kind) in HELD_OUT_TERRAINS for thing in self.objects)

    @property
    def is_held_out_combination(self) -> bool:
        """True for the combinations that a fixed hash keeps out of training."""
        if not self.objects:
            return False
        things = sorted(f"{thing.kind}/{thing.color}/{thing.position}" for thing in self.objects)
        key = " ".join((self.time, self.terrain, *things))
        return zlib.crc32(key.encode()) % HELD_OUT_ONE_IN == 0

    @property
    def is_held_out(self) -> bool:
        return self.has_held_out_color or self.has_held_out_terrain or self.is_held_out_combination


def sample_scene(rng: random.Random, allow_held_out: bool = False) -> Scene:
    """Draw a scene; without `allow_held_out`, one that training may see."""
    for _ in range(MAX_TRIES):
        scene = _draw(rng)
        if allow_held_out or not scene.is_held_out:
            return scene
    raise RuntimeError("no admissible scene found: the held-out rules exclude everything")


def _draw(rng: random.Random) -> Scene:
    time = rng.choices(TIMES, TIME_WEIGHTS)[0]
    terrain = rng.choices(TERRAINS, TERRAIN_WEIGHTS)[0]
    objects = _draw_objects(rng, terrain)
    sky = _draw_sky(rng, time)
    places = free_sky_places(time, objects)
    usual = time == "night" and rng.random() < USUAL_MOON_SHARE
    body_position = places[0] if usual else rng.choice(places)
    birds = time != "storm" and rng.random() < BIRDS_SHARE
    return Scene(time, terrain, body_position=body_position, birds=birds, objects=objects, **sky)


def free_sky_places(time: str, objects: tuple[SceneObject, ...]) -> list[str]:
    """Where no tall object covers the sun or the moon, nor any object a low sun; the usual place first."""
    low_sun = time in ("sunset", "dawn")
    taken = {thing.position for thing in objects if low_sun or thing.kind in SKY_HIGH_KINDS}
    return [place for place in SKY_PLACES if place not in taken]


def _draw_objects(rng: random.Random, terrain: str) -> tuple[SceneObject, ...]:
    count = rng.choices((0, 1, 2), OBJECT_COUNT_WEIGHTS)[0]
    kinds = rng.sample(KINDS_ON[terrain], count)
    pool = ("left", "right") if count == 2 and rng.random() < FAR_APART_SHARE else POSITIONS
    places = rng.sample(pool, count)
    return tuple(SceneObject(kind, place, _draw_color(rng, kind)) for kind, place in zip(kinds, places, strict=True))


def _draw_color(rng: random.Random, kind: str) -> str | None:
    if kind not in COLORED_KINDS:
        return None
    if kind == "tree":
        return "green" if rng.random() < GREEN_TREE_SHARE else rng.choice(TREE_COLORS)
    return rng.choice(COLORS)


def _draw_sky(rng: random.Random, time: str) -> dict[str, object]:
    if time == "day":
        return {
            "body": rng.choices(("sun", "none"), (65, 35))[0],
            "clouds": rng.random() < 0.5,
            "rainbow": rng.random() < 0.14,
        }
    if time in ("sunset", "dawn"):
        return {"body": rng.choices(("sun", "none"), (80, 20))[0], "clouds": rng.random() < 0.25}
    if time == "night":
        return {
            "body": rng.choices(("full moon", "crescent moon", "none"), (45, 30, 25))[0],
            "stars": rng.random() < 0.75,
            "aurora": rng.random() < 0.14,
            "clouds": rng.random() < 0.1,
        }
    return {"clouds": True, "lightning": rng.random() < 0.45, "rain": rng.random() < 0.5}
