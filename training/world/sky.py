"""What is above the horizon: stars, northern lights, sun, moon, rainbow, clouds, lightning, birds, rain."""

from __future__ import annotations

import math

from PIL import Image, ImageDraw

from .canvas import OVERSAMPLING, WHITE, Canvas, Color, mix
from .spec import SKY_PLACES

BODY_X = {"left": 0.2, "center": 0.5, "right": 0.8}
AURORA_COLORS: tuple[Color, ...] = ((70, 240, 170), (90, 220, 220), (150, 110, 240))
RAINBOW_COLORS: tuple[Color, ...] = (
    (236, 70, 70), (248, 152, 60), (250, 226, 80), (96, 200, 100), (76, 140, 236), (150, 90, 210),
)  # fmt: skip
CLOUD_COLORS: dict[str, Color] = {
    "day": WHITE,
    "sunset": (255, 188, 168),
    "dawn": (255, 238, 236),
    "night": (92, 104, 158),
    "storm": (70, 76, 90),
}
SUN_COLORS: dict[str, Color] = {"sunset": (255, 226, 130), "dawn": (255, 240, 190)}
HIGH_TERRAINS = ("mountains", "lake", "forest")  # they would hide a low sun
BOLT = ((0, 0), (1.2, 0), (0.5, 3), (1.5, 3), (-1, 8.5), (-0.1, 4.4), (-1.1, 4.4))


def draw_sky(canvas: Canvas) -> tuple[float, float, float] | None:
    """Draw what the sky holds, back to front; returns the sky body's centre and radius, if there is one."""
    scene = canvas.scene
    body_x = (BODY_X[scene.body_position] + canvas.rng.uniform(-0.02, 0.02)) * canvas.width
    if scene.stars:
        _stars(canvas)
    if scene.aurora:
        _aurora(canvas)
    body = None
    if scene.body == "sun":
        body = _sun(canvas, body_x)
    elif scene.body != "none":
        body = _moon(canvas, body_x, full=scene.body == "full moon")
    if scene.rainbow:
        _rainbow(canvas)
    if scene.clouds:
        _clouds(canvas, avoid_x=body_x if body else None)
    if scene.lightning:
        _lightning(canvas)
    return body


def draw_birds(canvas: Canvas) -> None:
    rng, unit = canvas.rng, canvas.unit
    color = (200, 206, 230) if canvas.scene.time == "night" else (40, 40, 60)
    flock_x, flock_y = rng.uniform(0.3, 0.7) * canvas.width, canvas.horizon * rng.uniform(0.42, 0.6)
    wing, stroke = unit * 0.03, int(OVERSAMPLING * 1.1)
    for index in range(4):
        x = flock_x + (index - 1.5) * unit * 0.1 + rng.uniform(-0.02, 0.02) * unit
        y = flock_y + rng.uniform(-0.05, 0.05) * unit
        canvas.draw.arc([x - 2 * wing, y - wing * 0.7, x, y + wing], 200, 350, fill=color, width=stroke)
        canvas.draw.arc([x, y - wing * 0.7, x + 2 * wing, y + wing], 190, 340, fill=color, width=stroke)


def draw_rain(canvas: Canvas) -> None:
    """Bold streaks: the latent code of 8x8 patches loses what is thinner than two pixels."""
    rng, length = canvas.rng, canvas.unit * 0.16
    for _ in range(int(30 * canvas.width * canvas.height / (128 * OVERSAMPLING) ** 2)):
        x, y = rng.uniform(0, canvas.width + length * 0.3), rng.uniform(-length / 2, canvas.height)
        end = (x - length * 0.3, y + length)
        canvas.draw.line([(x, y), end], fill=(210, 220, 236, 140), width=3 * OVERSAMPLING - 1)


def _glow(canvas: Canvas, x: float, y: float, radius: float, color: Color, strength: int) -> None:
    rings = 7
    for ring in range(rings):
        reach = radius * (1 + 1.6 * (1 - ring / rings))
        canvas.disc(x, y, reach, (*color, int(strength * 0.22)))


def _stars(canvas: Canvas) -> None:
    rng = canvas.rng
    for _ in range(int(60 * canvas.width * canvas.height / (128 * OVERSAMPLING) ** 2)):
        radius = rng.choice((1.0, 1.2, 1.2, 1.8)) * OVERSAMPLING * 0.62
        x, y = rng.uniform(0, canvas.width), rng.uniform(0, canvas.horizon * 0.95)
        canvas.disc(x, y, radius, (255, 250, 225, rng.randint(180, 255)))


def _aurora(canvas: Canvas) -> None:
    rng, unit, width = canvas.rng, canvas.unit, canvas.width
    for color in AURORA_COLORS:
        base, phase, height = (
            canvas.horizon * rng.uniform(0.25, 0.55),
            rng.uniform(0, 6),
            unit * rng.uniform(0.2, 0.32),
        )

        def wave(x: float, base: float = base, phase: float = phase) -> float:
            return base + unit * 0.06 * math.sin(phase + x / width * 5)

        for curtain in range(6):
            upper = [(x, wave(x) - height * curtain / 6) for x in range(0, width + 12, 12)]
            lower = [(x, wave(x) + unit * 0.02) for x in range(width, -12, -12)]
            canvas.polygon(upper + lower, (*color, 22))


def _sun(canvas: Canvas, x: float) -> tuple[float, float, float]:
    low = canvas.scene.time in SUN_COLORS
    if not low:
        height = canvas.rng.uniform(0.22, 0.32)
    elif canvas.scene.terrain in HIGH_TERRAINS:
        height = canvas.rng.uniform(0.30, 0.38)
    else:
        height = canvas.rng.uniform(0.68, 0.80)
    y, radius = canvas.horizon * height, canvas.unit * (0.12 if low else 0.10)
    _glow(canvas, x, y, radius, (255, 240, 190), 110)
    canvas.disc(x, y, radius, SUN_COLORS.get(canvas.scene.time, (255, 236, 110)))
    return x, y, radius


def _moon(canvas: Canvas, x: float, full: bool) -> tuple[float, float, float]:
    y, radius = canvas.horizon * canvas.rng.uniform(0.24, 0.34), canvas.unit * 0.105
    _glow(canvas, x, y, radius, (220, 228, 255), 80 if full else 36)
    if full:
        canvas.disc(x, y, radius, (248, 246, 226))
        for dx, dy, size in ((-0.35, -0.2, 0.2), (0.25, 0.3, 0.16), (0.3, -0.35, 0.12)):
            canvas.disc(x + dx * radius, y + dy * radius, size * radius, (226, 222, 200))
        return x, y, radius
    # The crescent is a disc with another disc cut out of it, pasted over whatever lies behind.
    mask = Image.new("L", canvas.image.size, 0)
    cutter = ImageDraw.Draw(mask)
    cutter.ellipse([x - radius, y - radius, x + radius, y + radius], fill=255)
    cutter.ellipse([x - radius * 0.45, y - radius * 1.15, x + radius * 1.45, y + radius * 0.75], fill=0)
    canvas.image.paste((250, 246, 222), (0, 0), mask)
    return x, y, radius


def _rainbow(canvas: Canvas) -> None:
    x, foot = canvas.width * 0.5, canvas.horizon * 1.05
    half, band = canvas.width * 0.46, canvas.unit * 0.024
    height = min(half * 0.95, foot * 0.92)  # flatter in wide formats, so that the arc stays in the picture
    for index, color in enumerate(RAINBOW_COLORS):
        inset = index * band
        box = [x - half + inset, foot - height + inset, x + half - inset, foot + height - inset]
        canvas.draw.arc(box, 180, 360, fill=(*color, 190), width=int(band + 1))


def _clouds(canvas: Canvas, avoid_x: float | None) -> None:
    rng, storm = canvas.rng, canvas.scene.time == "storm"
    count = 5 if storm else rng.randint(2, 3)
    for index in range(count):
        x = canvas.width * (index + 0.5) / count + rng.uniform(-0.06, 0.06) * canvas.width
        y = canvas.horizon * (rng.uniform(0.08, 0.28) if storm else rng.uniform(0.14, 0.5))
        size = canvas.unit * rng.uniform(0.07, 0.1) * (1.5 if storm else 1)
        if avoid_x is None or abs(x - avoid_x) > 2.7 * size:  # never over the sun or the moon
            _cloud(canvas, x, y, size, CLOUD_COLORS[canvas.scene.time])


def _cloud(canvas: Canvas, x: float, y: float, size: float, color: Color) -> None:
    shade = mix(color, (40, 50, 80), 0.14)
    for dx, dy, puff in ((-1.1, 0.1, 0.62), (-0.4, -0.3, 0.85), (0.45, -0.2, 0.8), (1.15, 0.12, 0.6)):
        canvas.ellipse(x + dx * size, y + (dy + 0.12) * size, puff * size, puff * size * 0.8, shade)
    for dx, dy, puff in ((-1.1, 0.05, 0.6), (-0.4, -0.35, 0.82), (0.45, -0.25, 0.78), (1.15, 0.08, 0.58)):
        canvas.ellipse(x + dx * size, y + dy * size, puff * size, puff * size * 0.78, color)
    canvas.rectangle(x - 1.35 * size, y + 0.2 * size, x + 1.35 * size, y + 0.62 * size, color)
    for side in (-1.3, 1.3):
        canvas.ellipse(x + side * size, y + 0.3 * size, 0.36 * size, 0.32 * size, color)


def _lightning(canvas: Canvas) -> None:
    taken = {thing.position for thing in canvas.scene.objects}
    place = next(place for place in SKY_PLACES if place not in taken)  # a place at random came out as two bolts
    x = (BODY_X[place] + canvas.rng.uniform(-0.05, 0.05)) * canvas.width
    y, size = canvas.horizon * 0.3, canvas.unit * 0.05
    canvas.polygon([(x + dx * size, y + dy * size) for dx, dy in BOLT], (255, 244, 150))
