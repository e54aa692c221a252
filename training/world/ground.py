"""Everything below the horizon: eight terrains, each of which returns the line its objects stand on."""

from __future__ import annotations

import math
import random

from .canvas import Canvas, Color, Curve, Light, lit, mix, soften

FLOWER_COLORS: tuple[Color, ...] = (
    (250, 220, 70), (244, 120, 170), (255, 255, 255), (220, 70, 70), (170, 110, 230),
)  # fmt: skip
WATER_TOP: dict[str, Color] = {
    "day": (74, 160, 214),
    "sunset": (226, 132, 110),
    "dawn": (190, 190, 222),
    "night": (30, 46, 100),
    "storm": (88, 106, 122),
}
WATER_BOTTOM: dict[str, Color] = {
    "day": (24, 96, 170),
    "sunset": (92, 58, 124),
    "dawn": (110, 130, 190),
    "night": (10, 20, 58),
    "storm": (44, 58, 76),
}
FOREST_GREEN: Color = (34, 100, 62)
NIGHT_INK: Color = (10, 14, 40)


def draw_ground(canvas: Canvas, body: tuple[float, float, float] | None) -> Curve:
    """Draw the terrain; `body` (centre and radius of sun or moon) is mirrored by the sea."""
    terrain = canvas.scene.terrain
    if terrain == "sea":
        return _sea(canvas, body)
    return {
        "hills": _hills,
        "meadow": _meadow,
        "mountains": _mountains,
        "lake": _lake,
        "desert": _desert,
        "snow": _snow,
        "forest": _forest,
    }[terrain](canvas)


def draw_pine(
    canvas: Canvas, x: float, foot: float, height: float, color: Color, light: Light, snowy: bool = False
) -> None:
    """A pine of three tiers; `light` is the ground's, or the brighter one of objects."""
    green = lit(color, light)
    canvas.rectangle(x - height * 0.035, foot - height * 0.14, x + height * 0.035, foot, canvas.in_haze((96, 64, 40)))
    for tier in range(3):
        top, bottom = foot - height * (1 - 0.26 * tier), foot - height * (0.56 - 0.22 * tier)
        half = height * 0.30 * (0.6 + 0.2 * tier)
        canvas.polygon([(x - half, bottom), (x, top), (x + half, bottom)], mix(green, (0, 0, 0), 0.07 * (2 - tier)))
        if snowy:
            middle = (top + bottom) / 2
            cap = lit((246, 250, 255), soften(canvas.light, 0.4))
            canvas.polygon([(x - half * 0.5, middle), (x, top), (x + half * 0.5, middle)], cap)


def _ridge(canvas: Canvas, height: float, swing: float, seed: float, waves: float) -> Curve:
    """A rolling line: three sines of rising frequency."""
    rng = random.Random(seed)
    phases = [rng.uniform(0, 2 * math.pi) for _ in range(3)]
    turns = [rng.uniform(0.6, 1) * waves, rng.uniform(1.2, 1.8) * waves, rng.uniform(2.2, 3) * waves]
    weights = (0.65, 0.25, 0.1)

    def curve(x: float) -> float:
        angle = math.pi * x / canvas.width
        parts = zip(weights, phases, turns, strict=True)
        return height - swing * sum(weight * math.sin(phase + turn * angle) for weight, phase, turn in parts)

    return curve


def _hills(canvas: Canvas) -> Curve:
    seed, unit = canvas.rng.random(), canvas.unit
    far = _ridge(canvas, canvas.horizon - unit * 0.02, unit * 0.06, seed, 1.6)
    middle = _ridge(canvas, canvas.below_horizon(0.22), unit * 0.05, seed + 1, 1.4)
    near = _ridge(canvas, canvas.below_horizon(0.46), unit * 0.035, seed + 2, 1.0)
    canvas.below(far, canvas.in_haze((120, 190, 120), 0.35))
    canvas.below(middle, canvas.in_haze((104, 184, 88), 0.12))
    canvas.below(near, canvas.in_haze((92, 178, 70)), canvas.in_haze((62, 140, 56)))
    return near


def _meadow(canvas: Canvas) -> Curve:
    near, rng = _hills(canvas), canvas.rng
    for _ in range(int(55 * canvas.width / canvas.height)):
        x, depth = rng.uniform(0, canvas.width), rng.random() ** 0.8
        line = near(x)
        y = line + (canvas.height - line) * (0.12 + 0.86 * depth)
        canvas.disc(
            x,
            y,
            canvas.unit * (0.009 + 0.013 * depth),
            lit(rng.choice(FLOWER_COLORS), soften(canvas.light, 0.4)),
        )
    return near


def _mountains(canvas: Canvas) -> Curve:
    _mountain_range(canvas, canvas.horizon + canvas.unit * 0.05, (104, 116, 150))
    seed, unit = canvas.rng.random(), canvas.unit
    top = canvas.horizon + unit * 0.03
    canvas.rectangle(0, top, canvas.width, canvas.height, canvas.in_haze((112, 178, 120), 0.3))
    middle = _ridge(canvas, canvas.below_horizon(0.25), unit * 0.03, seed, 1.2)
    near = _ridge(canvas, canvas.below_horizon(0.46), unit * 0.025, seed + 2, 1.0)
    canvas.below(middle, canvas.in_haze((96, 170, 100), 0.15))
    canvas.below(near, canvas.in_haze((88, 168, 76)), canvas.in_haze((58, 130, 58)))
    return near


def _mountain_range(canvas: Canvas, foot: float, color: Color) -> None:
    """Two rows of snow-capped peaks, the far one paler."""
    rng = canvas.rng
    count = 3 if canvas.width <= canvas.height * 1.2 else 4
    for row, (haze, size) in enumerate(((0.42, 1.0), (0.10, 0.8))):
        for index in range(count - row):
            x = (index + 0.5 + row * 0.5) / count * canvas.width + rng.uniform(-0.06, 0.06) * canvas.width
            height = canvas.unit * rng.uniform(0.30, 0.42) * size
            _peak(canvas, x, foot, height * rng.uniform(0.85, 1.05), height, canvas.in_haze(color, haze))


def _peak(canvas: Canvas, x: float, foot: float, half: float, height: float, color: Color) -> None:
    top, cap = foot - height, 0.36  # the share of the height that is white
    snow = lit((250, 252, 255), soften(canvas.light, 0.45))
    canvas.polygon([(x - half, foot), (x, top), (x + half, foot)], color)
    canvas.polygon([(x, top), (x + half, foot), (x + half * 0.12, foot)], mix(color, NIGHT_INK, 0.20))
    right_edge = [
        (x, top),
        (x + half * cap, top + height * cap),
        (x + half * cap * 0.5, top + height * cap * 0.72),
        (x + half * 0.05, top + height * cap * 1.1),
    ]
    left_edge = [(x - half * cap * 0.45, top + height * cap * 0.75), (x - half * cap, top + height * cap)]
    canvas.polygon(right_edge + left_edge, snow)
    canvas.polygon(right_edge, mix(snow, (60, 80, 140), 0.18))


def _water(canvas: Canvas, top: Color, bottom: Color) -> None:
    rng, bands = canvas.rng, 10
    for band in range(bands):
        y = canvas.below_horizon(band / bands)
        canvas.rectangle(0, y, canvas.width, canvas.height, mix(top, bottom, band / (bands - 1)))
    glint = (*mix(top, (255, 255, 255), 0.45), 120)
    for _ in range(int(12 * canvas.width / canvas.height) + 4):
        depth, x = rng.random(), rng.uniform(0, canvas.width)
        half, thickness = canvas.unit * (0.03 + 0.07 * depth), canvas.unit * (0.004 + 0.004 * depth)
        canvas.ellipse(x, canvas.below_horizon(0.06 + 0.92 * depth), half, thickness, glint)


def _sea(canvas: Canvas, body: tuple[float, float, float] | None) -> Curve:
    time, unit = canvas.scene.time, canvas.unit
    _water(canvas, WATER_TOP[time], WATER_BOTTOM[time])
    if body is not None:
        color = (255, 240, 180, 190) if canvas.scene.body == "sun" else (230, 234, 250, 190)
        for ripple in range(7):
            x = body[0] + canvas.rng.uniform(-0.01, 0.01) * unit
            y = canvas.below_horizon(0.05 + 0.13 * ripple)
            canvas.ellipse(x, y, unit * (0.10 - 0.009 * ripple), unit * 0.009, color)
    return lambda x: canvas.below_horizon(0.50)


def _lake(canvas: Canvas) -> Curve:
    _mountain_range(canvas, canvas.horizon + canvas.unit * 0.01, (100, 114, 146))
    time = canvas.scene.time
    _water(canvas, mix(WATER_TOP[time], (110, 200, 200), 0.25), mix(WATER_BOTTOM[time], (40, 120, 130), 0.25))
    shore = _ridge(canvas, canvas.height - canvas.unit * 0.05, canvas.unit * 0.02, canvas.rng.random(), 1.0)
    canvas.below(shore, canvas.in_haze((80, 160, 70)), canvas.in_haze((56, 126, 56)))
    return lambda x: canvas.below_horizon(0.50)


def _desert(canvas: Canvas) -> Curve:
    seed, unit = canvas.rng.random(), canvas.unit
    far = _ridge(canvas, canvas.horizon, unit * 0.05, seed, 1.6)
    middle = _ridge(canvas, canvas.below_horizon(0.2), unit * 0.06, seed + 1, 1.3)
    near = _ridge(canvas, canvas.below_horizon(0.46), unit * 0.04, seed + 2, 1.0)
    canvas.below(far, canvas.in_haze((238, 202, 140), 0.3))
    canvas.below(middle, canvas.in_haze((232, 184, 110), 0.05))
    canvas.below(near, canvas.in_haze((240, 196, 116)), canvas.in_haze((212, 158, 84)))
    return near


def _snow(canvas: Canvas) -> Curve:
    seed, unit, light = canvas.rng.random(), canvas.unit, soften(canvas.light, 0.35)
    far = _ridge(canvas, canvas.horizon, unit * 0.06, seed, 1.6)
    middle = _ridge(canvas, canvas.below_horizon(0.22), unit * 0.05, seed + 1, 1.3)
    near = _ridge(canvas, canvas.below_horizon(0.46), unit * 0.03, seed + 2, 1.0)
    canvas.below(far, mix(lit((206, 220, 240), light), canvas.sky_colors[2], 0.2))
    canvas.below(middle, lit((224, 234, 248), light))
    canvas.below(near, lit((248, 250, 255), light), lit((214, 226, 244), light))
    return near


def _forest(canvas: Canvas) -> Curve:
    rng, unit, seed = canvas.rng, canvas.unit, canvas.rng.random()
    floor = _ridge(canvas, canvas.horizon + unit * 0.04, unit * 0.03, seed, 1.6)
    near = _ridge(canvas, canvas.below_horizon(0.46), unit * 0.02, seed + 2, 1.0)
    canvas.below(floor, canvas.in_haze((52, 118, 66), 0.25))
    for row, (lower, size, haze) in enumerate(((0.0, 0.30, 0.38), (0.07, 0.36, 0.08))):
        count = int((9 - row) * canvas.width / canvas.height) + 3
        green = mix(lit(FOREST_GREEN, canvas.light), canvas.sky_colors[2], haze * 0.85)
        for index in range(count):
            x = canvas.width * (index + 0.5) / count + rng.uniform(-0.03, 0.03) * canvas.width
            height = unit * size * rng.uniform(0.85, 1.15)
            draw_pine(canvas, x, floor(x) + unit * (lower + 0.04), height, green, (1, 1, 1))
    canvas.below(lambda x: floor(x) + unit * 0.10, canvas.in_haze((66, 132, 66), 0.05))
    canvas.below(near, canvas.in_haze((78, 150, 66)), canvas.in_haze((48, 110, 52)))
    return near
