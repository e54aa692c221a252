"""The drawing surface: shapes with soft edges (drawn large, then reduced) and the colours of the light.

Lengths that do not depend on the picture's size are given in `unit`s, so that a house looks the same in
every format.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import numpy as np
from PIL import Image, ImageDraw

from .spec import Scene

Color = tuple[int, ...]
Light = tuple[float, float, float]
Curve = Callable[[float], float]

OVERSAMPLING = 3  # shapes are drawn this many times larger, then box-filtered: clean anti-aliased edges
WHITE: Color = (255, 255, 255)
SHADOW: Color = (20, 16, 40)

SKY_GRADIENTS: dict[str, tuple[Color, Color, Color]] = {
    "day": ((58, 140, 230), (126, 194, 250), (216, 240, 255)),
    "sunset": ((78, 54, 134), (236, 100, 92), (255, 200, 104)),
    "dawn": ((128, 150, 220), (250, 186, 200), (255, 232, 196)),
    "night": ((8, 12, 40), (20, 30, 80), (50, 64, 128)),
    "storm": ((48, 54, 68), (82, 90, 104), (134, 140, 146)),
}
GROUND_LIGHT: dict[str, Light] = {
    "day": (1, 1, 1),
    "sunset": (0.96, 0.72, 0.62),
    "dawn": (1, 0.90, 0.90),
    "night": (0.42, 0.48, 0.70),
    "storm": (0.60, 0.64, 0.68),
}
# Objects get more light than the ground, so that their colour can be told at night.
OBJECT_LIGHT: dict[str, Light] = {
    "day": (1, 1, 1),
    "sunset": (0.97, 0.88, 0.84),
    "dawn": (1, 0.96, 0.96),
    "night": (0.74, 0.76, 0.88),
    "storm": (0.86, 0.88, 0.90),
}


def lit(color: Color, light: Light) -> Color:
    """The colour under a coloured light."""
    return tuple(int(max(0, min(255, channel * factor))) for channel, factor in zip(color, light, strict=True))


def mix(first: Color, second: Color, share: float) -> Color:
    """`first` at 0, `second` at 1."""
    return tuple(int(a + (b - a) * share) for a, b in zip(first, second, strict=True))


def darker(color: Color, share: float = 0.25) -> Color:
    return mix(color, SHADOW, share)


def soften(light: Light, share: float) -> Light:
    """A light pulled towards white."""
    return tuple(factor + (1 - factor) * share for factor in light)


class Canvas:
    """A picture in the making: sky already graded, horizon and light known."""

    def __init__(self, scene: Scene, width: int, height: int, rng: random.Random) -> None:
        self.scene = scene
        self.rng = rng
        self.width, self.height = width * OVERSAMPLING, height * OVERSAMPLING
        self.unit = min(self.width, self.height) * (0.92 if width == height else 1.12)
        self.light = GROUND_LIGHT[scene.time]
        self.object_light = OBJECT_LIGHT[scene.time]
        self.horizon = self.height * rng.uniform(0.57, 0.60)
        self.sky_colors = [mix(color, WHITE, rng.uniform(-0.03, 0.05)) for color in SKY_GRADIENTS[scene.time]]
        self.image = self._graded_sky()
        self.draw = ImageDraw.Draw(self.image, "RGBA")

    def _graded_sky(self) -> Image.Image:
        depth = np.clip(np.linspace(0, 1, self.height) * self.height / self.horizon, 0, 1)
        stops = np.array(self.sky_colors, dtype=float)
        rows = np.stack([np.interp(depth, (0, 0.55, 1), stops[:, channel]) for channel in range(3)], axis=-1)
        pixels = np.clip(rows, 0, 255).astype(np.uint8)[:, None, :]
        return Image.fromarray(np.repeat(pixels, self.width, axis=1))

    def below_horizon(self, share: float) -> float:
        """The height of a line between the horizon (0) and the bottom edge (1)."""
        return self.horizon + (self.height - self.horizon) * share

    def on_object(self, color: Color) -> Color:
        return lit(color, self.object_light)

    def in_haze(self, color: Color, share: float = 0.0) -> Color:
        """A ground colour in this light, faded towards the sky at the horizon."""
        return mix(lit(color, self.light), self.sky_colors[2], share)

    def polygon(self, points: Iterable[tuple[float, float]], color: Color) -> None:
        self.draw.polygon([(float(x), float(y)) for x, y in points], fill=color)

    def ellipse(self, x: float, y: float, radius_x: float, radius_y: float, color: Color) -> None:
        self.draw.ellipse([x - radius_x, y - radius_y, x + radius_x, y + radius_y], fill=color)

    def disc(self, x: float, y: float, radius: float, color: Color) -> None:
        self.ellipse(x, y, radius, radius, color)

    def rectangle(self, x0: float, y0: float, x1: float, y1: float, color: Color) -> None:
        self.draw.rectangle([min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)], fill=color)

    def below(self, curve: Curve, color: Color, bottom: Color | None = None) -> None:
        """Fill everything under a curve; with `bottom`, in bands that shade towards it."""
        step = 8
        top = [(x, curve(x)) for x in range(0, self.width + step, step)]
        corners = [(self.width + step, self.height), (0, self.height)]
        self.polygon(top + corners, color)
        if bottom is None:
            return
        bands = 4
        for band in range(1, bands + 1):
            drop = band * (self.height - self.horizon) * 0.13
            self.polygon([(x, y + drop) for x, y in top] + corners, mix(color, bottom, band / bands))

    def reduced(self) -> Image.Image:
        """The picture at its real size."""
        return self.image.resize((self.width // OVERSAMPLING, self.height // OVERSAMPLING), Image.Resampling.BOX)
