"""Sentences about a scene: many ways to say the same, never anything that is not in the picture."""

from __future__ import annotations

import random

from .spec import Scene, SceneObject, free_sky_places

KIND_NAMES = {
    "house": ("house", "house", "house", "house", "cottage", "cabin", "home"),
    "tree": ("tree",),
    "castle": ("castle",),
    "windmill": ("windmill",),
    "tent": ("tent",),
    "balloon": ("hot air balloon", "balloon", "hot air balloon"),
    "sailboat": ("sailboat", "boat", "sailing boat", "ship", "sailboat"),
    "lighthouse": ("lighthouse",),
    "cactus": ("cactus",),
    "pyramid": ("pyramid",),
    "pines": ("pine trees", "pines", "fir trees", "some pine trees"),
}
POSITION_PHRASES = {
    "left": ("on the left", "on the left", "to the left", "on the left side", "at the left"),
    "right": ("on the right", "on the right", "to the right", "on the right side", "at the right"),
    "center": ("in the middle", "in the middle", "in the center", "in the centre"),
}
TERRAIN_NAMES = {
    "hills": ("green hills", "rolling hills", "grassy hills", "a green hill", "hills", "the countryside"),
    "mountains": (
        "snowy mountains", "mountains", "tall mountains", "the mountains", "a mountain valley",
        "snow capped mountains",
    ),
    "sea": ("the sea", "the ocean", "the water", "a calm sea", "the open sea", "the sea"),
    "desert": ("the desert", "sand dunes", "a desert", "a sandy desert"),
    "snow": (
        "a snowy field", "the snow", "a snow covered field", "a winter landscape", "snowy hills",
        "winter",
    ),
    "forest": ("a forest", "the forest", "a pine forest", "the woods"),
    "lake": ("a mountain lake", "a lake", "the lake", "a lake in the mountains"),
    "meadow": (
        "a flower meadow", "a meadow", "a field of flowers", "a meadow full of flowers", "wildflowers",
    ),
}  # fmt: skip
TERRAIN_PREPOSITIONS = {
    "hills": ("on", "in", "among"),
    "mountains": ("in front of", "in", "near", "below"),
    "sea": ("on", "at", "by"),
    "desert": ("in",),
    "snow": ("in",),
    "forest": ("in", "near", "in front of"),
    "lake": ("on", "by"),
    "meadow": ("in",),
}
TIME_PHRASES = {
    "day": (
        "on a sunny day", "under a blue sky", "during the day", "in daylight", "on a clear day",
        "in the daytime", "at noon",
    ),
    "sunset": (
        "at sunset", "at dusk", "under an orange sunset sky", "in the evening", "with a sunset",
        "during sunset",
    ),
    "dawn": ("at dawn", "at sunrise", "in the early morning", "under a pink morning sky", "in the morning"),
    "night": ("at night", "under a night sky", "at midnight", "in the dark", "on a dark night"),
    "storm": (
        "in a storm", "under a stormy sky", "under dark clouds", "on a stormy day", "during a storm",
        "in bad weather",
    ),
}  # fmt: skip
STARRY_PHRASES = (
    "under a starry night sky", "under the stars", "on a starry night", "at night with stars",
    "under a starry sky",
)  # fmt: skip
OPENINGS = (
    "an illustration of ", "a picture of ", "a painting of ", "a drawing of ", "a scene with ",
    "a landscape with ",
    "a photo of ",
)  # fmt: skip
SIZES = ("small", "little", "pretty", "big", "beautiful", "old")
# Words that say nothing about the picture: the model learns to leave them alone.
IDLE_ENDINGS = (
    "4k", "highly detailed", "masterpiece", "best quality", "flat illustration", "digital art",
    "beautiful", "peaceful",
    "cinematic", "vector art", "minimalist", "for children",
)  # fmt: skip
SUN_NAMES = {"sunset": "a setting sun", "dawn": "the rising sun", "day": "a yellow sun"}
TIME_STARTS = ("at ", "on ", "in ", "under ", "during ", "with ")


def with_article(noun: str) -> str:
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def caption(scene: Scene, rng: random.Random, clean: bool = False) -> str:
    """Describe a scene; some facts are left unsaid, so that short prompts work too.

    Unless `clean`, some captions carry words and punctuation that mean nothing, as prompts do.
    """
    terrain = rng.choice(TERRAIN_NAMES[scene.terrain]) if rng.random() < 0.94 else ""
    time = _time_phrase(scene, rng) if rng.random() < 0.94 else ""
    extras = _extras(scene, time, rng)
    objects = list(scene.objects)
    rng.shuffle(objects)
    things = _object_phrases(objects, rng)
    if things and rng.random() < 0.62:
        text = _sentence(scene, things, terrain, time, extras, rng)
    else:
        text = _listing(things, terrain, time, extras, rng)
    if rng.random() < 0.12:
        text = rng.choice(OPENINGS) + text
    text = text or "a landscape"
    if rng.random() < 0.08:
        text += ", " + rng.choice(IDLE_ENDINGS)
    if clean:
        return text
    if rng.random() < 0.06:
        text = _with_unknown_word(text, rng)
    return _punctuate(text, rng)


def _time_phrase(scene: Scene, rng: random.Random) -> str:
    if scene.stars and rng.random() < 0.6:
        return rng.choice(STARRY_PHRASES)
    return rng.choice(TIME_PHRASES[scene.time])


def _extras(scene: Scene, time: str, rng: random.Random) -> list[str]:
    """Names of what the sky holds besides its time of day."""
    extras = []
    body = _body_phrase(scene, rng)
    if body:
        extras.append(body)
    if scene.stars and "star" not in time and rng.random() < 0.6:
        extras.append(rng.choice(("stars", "many stars", "twinkling stars")))
    if scene.aurora and rng.random() < 0.95:
        extras.append(rng.choice(("northern lights", "the aurora", "an aurora", "green northern lights")))
    if scene.rainbow and rng.random() < 0.97:
        extras.append("a rainbow")
    if scene.clouds and scene.time != "storm" and rng.random() < 0.7:
        by_day = ("clouds", "white clouds", "fluffy clouds", "a few clouds")
        extras.append(rng.choice(by_day) if scene.time == "day" else "clouds")
    if scene.lightning and rng.random() < 0.95:
        extras.append(rng.choice(("lightning", "a lightning bolt", "a flash of lightning")))
    if scene.rain and rng.random() < 0.9:
        extras.append("rain")
    if scene.birds and rng.random() < 0.95:
        extras.append(rng.choice(("birds", "flying birds", "a flock of birds")))
    rng.shuffle(extras)
    return extras


def _body_phrase(scene: Scene, rng: random.Random) -> str:
    usual = "moon" not in scene.body or scene.body_position == free_sky_places(scene.time, scene.objects)[0]
    place = " " + rng.choice(POSITION_PHRASES[scene.body_position]) if rng.random() < (0.4 if usual else 0.95) else ""
    if scene.body == "sun" and rng.random() < 0.6:
        return rng.choice(("the sun", "a bright sun", SUN_NAMES[scene.time])) + place
    if "moon" in scene.body and rng.random() < 0.85:
        name = rng.choice(("a ", "a bright ")) + scene.body if rng.random() < 0.8 else "the moon"
        return name + place
    return ""


def _object_phrases(objects: list[SceneObject], rng: random.Random) -> list[tuple[str, str]]:
    """Name and place of every object; two objects are mostly placed both or neither."""
    places_named = rng.random() < (0.85 if len(objects) == 2 else 0.7)
    phrases = []
    for thing in objects:
        place = rng.choice(POSITION_PHRASES[thing.position]) if places_named and rng.random() < 0.95 else ""
        phrases.append((_noun_phrase(thing, rng), place))
    return phrases


def _noun_phrase(thing: SceneObject, rng: random.Random) -> str:
    name = rng.choice(KIND_NAMES[thing.kind])
    if thing.kind == "pines":
        return "tall " + name if name != "some pine trees" and rng.random() < 0.2 else name
    words = [name]
    if thing.color and rng.random() < 0.95:
        words.insert(0, thing.color)
    elif thing.kind == "cactus" and rng.random() < 0.3:
        words.insert(0, "green")
    if rng.random() < 0.10:
        words.insert(0, rng.choice(SIZES))
    return with_article(" ".join(words))


def _sentence(
    scene: Scene,
    things: list[tuple[str, str]],
    terrain: str,
    time: str,
    extras: list[str],
    rng: random.Random,
) -> str:
    """ "a red house on the left and a blue tent on the right in the snow at night, a full moon" """
    setting = rng.choice(TERRAIN_PREPOSITIONS[scene.terrain]) + " " + terrain if terrain else ""
    placed = all(place for _, place in things)
    if placed and rng.random() < 0.25:  # "on the left a red house, on the right a blue tent"
        text = rng.choice((", ", " and ")).join(f"{place} {name}" for name, place in things)
        parts = [text, setting]
    elif len(things) == 2:
        joint = rng.choice((" and ", " and ", ", ") if placed else (" and ", " next to ", " with "))
        first, second = (" ".join(part for part in thing if part) for thing in things)
        if rng.random() < 0.5:
            parts = [first + joint + second, setting]
        else:  # the setting comes with the first object
            parts = [first, setting + joint + second] if setting else [first + joint + second]
    else:
        name, place = things[0]
        parts = [name, setting, place] if rng.random() < 0.5 else [name, place, setting]
    text = " ".join(part for part in parts if part)
    if time and rng.random() < 0.6:
        text = f"{text} {time}"
    elif time:
        extras = [*extras, time]
        rng.shuffle(extras)
    if not extras:
        return text
    plain = len(extras) <= 2 and not any(extra.startswith(TIME_STARTS) for extra in extras)
    if plain and rng.random() < 0.5:
        return f"{text} with {' and '.join(extras)}"
    return ", ".join([text, *extras])


def _listing(things: list[tuple[str, str]], terrain: str, time: str, extras: list[str], rng: random.Random) -> str:
    """ "snowy mountains, a red house on the left, stars, at night" """
    items = [" ".join(part for part in thing if part) for thing in things]
    if terrain:
        items.append(terrain)
    items += extras
    rng.shuffle(items)
    if time and items and rng.random() < 0.5:
        items[-1] += " " + time
    elif time:
        items.insert(rng.randint(0, len(items)), time)
    return ", ".join(items)


def _with_unknown_word(text: str, rng: random.Random) -> str:
    """Put a word that does not exist somewhere, so that words outside the vocabulary do no harm."""
    words = text.split(" ")
    nonsense = "".join(rng.choice("bcdfgjklmnpqvwxz") + rng.choice("aeiou") for _ in range(rng.randint(2, 4)))
    words.insert(rng.randint(0, len(words)), nonsense)
    return " ".join(words)


def _punctuate(text: str, rng: random.Random) -> str:
    """Endings that people type; they mean nothing."""
    chance = rng.random()
    if chance < 0.08:
        return text + "."
    if chance < 0.11:
        return text + "!"
    if chance < 0.13:
        return text.replace(",", "")
    return text
