"""The things a scene may hold, each drawn from its foot point in units of its own size."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .canvas import WHITE, Canvas, Color, darker, lit, mix, soften
from .ground import draw_pine
from .spec import SceneObject

LAMPLIGHT: Color = (255, 226, 120)
LAMPLIT_TIMES = ("sunset", "night", "storm")


@dataclass(frozen=True)
class Extent:
    """How far an object reaches from its foot point, in units of its size."""

    half_width: float
    above: float
    below: float = 0.03


EXTENTS = {
    "house": Extent(0.21, 0.35),
    "tree": Extent(0.20, 0.44),
    "castle": Extent(0.23, 0.54),
    "windmill": Extent(0.22, 0.55),
    "tent": Extent(0.22, 0.26),
    "balloon": Extent(0.16, 0.17, 0.30),
    "sailboat": Extent(0.21, 0.43),
    "lighthouse": Extent(0.21, 0.58, 0.10),
    "cactus": Extent(0.16, 0.41),
    "pyramid": Extent(0.31, 0.33),
    "pines": Extent(0.25, 0.47),
}


@dataclass(frozen=True)
class Place:
    """Where an object goes and how large it is; `glow_side` is where a lighthouse sends its beam."""

    x: float
    y: float
    size: float
    glow_side: int = 1


class ObjectPainter:
    """Draws one object on a canvas."""

    def __init__(self, canvas: Canvas, thing: SceneObject, place: Place) -> None:
        self.canvas, self.thing = canvas, thing
        self.x, self.y, self.size, self.glow_side = place.x, place.y, place.size, place.glow_side
        self.lamplit = canvas.scene.time in LAMPLIT_TIMES
        self.window = LAMPLIGHT if self.lamplit else canvas.on_object((150, 200, 230))

    def paint(self) -> None:
        if self.thing.color is None:
            getattr(self, f"_{self.thing.kind}")()
        else:
            from_palette = self.canvas.on_object(PALETTE[self.thing.color])
            getattr(self, f"_{self.thing.kind}")(from_palette)

    def shadow(self) -> None:
        self.canvas.ellipse(self.x, self.y, self.size * 0.2, self.size * 0.018, (0, 0, 0, 46))

    # Shapes relative to the foot point, in units of the object's size; y grows upwards here.
    def _at(self, dx: float, dy: float) -> tuple[float, float]:
        return self.x + dx * self.size, self.y - dy * self.size

    def _polygon(self, points: list[tuple[float, float]], color: Color) -> None:
        self.canvas.polygon([self._at(dx, dy) for dx, dy in points], color)

    def _box(self, left: float, bottom: float, right: float, top: float, color: Color) -> None:
        self.canvas.rectangle(*self._at(left, bottom), *self._at(right, top), color)

    def _oval(self, dx: float, dy: float, radius_x: float, radius_y: float, color: Color) -> None:
        self.canvas.ellipse(*self._at(dx, dy), radius_x * self.size, radius_y * self.size, color)

    def _house(self, color: Color) -> None:
        on = self.canvas.on_object
        half, wall, roof = 0.17, 0.19, 0.15
        self._box(-half, 0, half, wall, color)
        self._box(half * 0.3, 0, half, wall, darker(color, 0.13))
        self._box(half * 0.45, wall, half * 0.72, wall + roof, on((130, 90, 80)))
        # A roof in the usual brown would vanish above red or orange walls.
        tiles = on((84, 62, 70) if self.thing.color in ("red", "orange") else (116, 64, 52))
        self._polygon([(-half * 1.22, wall), (0, wall + roof), (half * 1.22, wall)], tiles)
        if self.canvas.scene.terrain == "snow":
            cap = lit((248, 250, 255), soften(self.canvas.light, 0.4))
            edge = wall + 0.065
            self._polygon([(-half * 0.72, edge), (0, wall + roof + 0.005), (half * 0.72, edge)], cap)
        self._box(-half * 0.16, 0, half * 0.2, wall * 0.55, on((92, 58, 42)))
        for side in (-0.62, 0.64):
            self._box(half * (side - 0.2), wall * 0.34, half * (side + 0.2), wall * 0.72, on((250, 248, 240)))
            self._box(half * (side - 0.15), wall * 0.38, half * (side + 0.15), wall * 0.68, self.window)

    def _tree(self, color: Color) -> None:
        self._box(-0.022, 0, 0.022, 0.18, self.canvas.on_object((110, 74, 46)))
        for dx, dy, radius in ((-0.09, 0.22, 0.1), (0.09, 0.22, 0.1), (0, 0.31, 0.125), (0, 0.2, 0.1)):
            self._oval(dx, dy, radius, radius, darker(color, 0.16))
        for dx, dy, radius in ((-0.08, 0.24, 0.075), (0.06, 0.26, 0.08), (-0.01, 0.335, 0.09)):
            self._oval(dx, dy, radius, radius, color)

    def _pines(self) -> None:
        snowy, light = self.canvas.scene.terrain == "snow", soften(self.canvas.light, 0.3)
        for dx, height in ((-0.13, 0.34), (0.12, 0.38), (0, 0.46)):
            x, foot = self._at(dx, -abs(dx) * 0.1)
            draw_pine(self.canvas, x, foot, height * self.size, (30, 108, 66), light, snowy)

    def _castle(self, color: Color) -> None:
        on, half = self.canvas.on_object, 0.16
        shade = darker(color, 0.16)
        spires = on((70, 60, 84) if self.thing.color == "purple" else (90, 70, 120))
        for side, width, height in ((-1.0, 0.34, 0.30), (1.0, 0.34, 0.30), (0, 0.36, 0.40)):
            middle, tower = side * half, width * half
            if side == 0:
                self._box(-half, 0, half, 0.18, color)
                for merlon in range(5):
                    left = -half + merlon * half * 0.45
                    self._box(left, 0.18, left + half * 0.24, 0.21, color)
            self._box(middle - tower, 0, middle + tower, height, color if side <= 0 else shade)
            self._box(middle + tower * 0.3, 0, middle + tower, height, shade)
            self._polygon(
                [(middle - tower * 1.3, height), (middle, height + 0.13), (middle + tower * 1.3, height)],
                spires,
            )
            slit = height * 0.82
            self._box(middle - half * 0.09, slit - 0.045, middle + half * 0.09, slit, self.window)
        self._oval(0, 0.085, half * 0.26, 0.035, on((80, 54, 44)))
        self._box(-half * 0.26, 0, half * 0.26, 0.085, on((80, 54, 44)))

    def _windmill(self, color: Color) -> None:
        on = self.canvas.on_object
        self._polygon([(-0.1, 0), (-0.06, 0.32), (0.06, 0.32), (0.1, 0)], color)
        self._polygon([(0.02, 0), (0.012, 0.32), (0.06, 0.32), (0.1, 0)], darker(color, 0.15))
        self._polygon([(-0.075, 0.32), (0, 0.40), (0.075, 0.32)], on((120, 72, 56)))
        self._box(-0.03, 0, 0.03, 0.09, on((92, 58, 42)))
        hub, length, width = 0.33, 0.21, 0.034
        start = math.pi / 4 + self.canvas.rng.uniform(-0.12, 0.12)
        for quarter in range(4):
            cos, sin = math.cos(start + quarter * math.pi / 2), math.sin(start + quarter * math.pi / 2)
            blade = ((0.03, -0.2), (length, -0.3), (length, 1.0), (0.03, 1.0))
            points = [
                (along * cos - aside * width * sin, hub - along * sin - aside * width * cos) for along, aside in blade
            ]
            self._polygon(points, on((252, 248, 238)))
        self._oval(0, hub, 0.022, 0.022, on((90, 60, 46)))

    def _tent(self, color: Color) -> None:
        half, height = 0.21, 0.25
        self._polygon([(-half, 0), (0, height), (half, 0)], color)
        self._polygon([(0, height), (half, 0), (half * 0.35, 0)], darker(color, 0.18))
        glows = self.canvas.scene.time in ("night", "storm")
        opening = LAMPLIGHT if glows else self.canvas.on_object((74, 52, 48))
        self._polygon([(-half * 0.3, 0), (0, height * 0.72), (half * 0.28, 0)], opening)

    def _cactus(self) -> None:
        green, half = self.canvas.on_object((58, 140, 78)), 0.038
        arms = (
            (0, 0, 0, 0.36), (0, 0.13, -0.11, 0.13), (-0.11, 0.13, -0.11, 0.25),
            (0, 0.18, 0.11, 0.18), (0.11, 0.18, 0.11, 0.30),
        )  # fmt: skip
        for x0, y0, x1, y1 in arms:
            line = [*self._at(x0, y0), *self._at(x1, y1)]
            self.canvas.draw.line(line, fill=green, width=int(2 * half * self.size))
            self._oval(x0, y0, half, half, green)
            self._oval(x1, y1, half, half, green)

    def _pyramid(self) -> None:
        on, half, height = self.canvas.on_object, 0.30, 0.32
        self._polygon([(-half, 0), (0, height), (half, 0)], on((226, 182, 104)))
        self._polygon([(0, height), (half, 0), (half * 0.2, 0)], on((176, 130, 74)))

    def _balloon(self, color: Color) -> None:
        radius, on = 0.155, self.canvas.on_object
        self._oval(0, 0, radius, radius * 1.05, color)
        self._oval(0, 0, radius * 0.62, radius * 1.05, mix(color, on(WHITE), 0.34))
        self._oval(0, 0, radius * 0.26, radius * 1.05, color)
        skirt = [(-0.83, -0.62), (0.83, -0.62), (0.2, -1.45), (-0.2, -1.45)]
        self._polygon([(dx * radius, dy * radius) for dx, dy in skirt], darker(color, 0.14))
        self._box(-radius * 0.2, -radius * 1.9, radius * 0.2, -radius * 1.55, on((130, 84, 50)))

    def _sailboat(self, color: Color) -> None:
        half, on = 0.2, self.canvas.on_object
        self._oval(0, -0.012, half * 1.05, 0.02, (255, 255, 255, 110))
        self._box(-0.008, 0.04, 0.008, 0.42, on((110, 76, 50)))
        self._polygon([(0.018, 0.42), (0.018, 0.09), (half * 0.95, 0.09)], color)
        foresail = darker(color, 0.10) if self.thing.color == "white" else mix(color, on(WHITE), 0.3)
        self._polygon([(-0.018, 0.36), (-0.018, 0.09), (-half * 0.72, 0.09)], foresail)
        hull = [(-half, 0.065), (half, 0.065), (half * 0.7, -0.015), (-half * 0.75, -0.015)]
        self._polygon(hull, on((122, 76, 48)))

    def _lighthouse(self, color: Color) -> None:
        on, white = self.canvas.on_object, self.thing.color == "white"
        self._oval(0, -0.02, 0.21, 0.075, on((110, 104, 104)))
        self._oval(-0.05, 0, 0.12, 0.055, on((136, 130, 128)))
        if self.lamplit:
            reach = self.glow_side * self.canvas.width
            top, bottom = self.y - self.size * 0.60, self.y - self.size * 0.36
            beam = [self._at(0, 0.48), (self.x + reach, top), (self.x + reach, bottom)]
            self.canvas.polygon(beam, (255, 244, 180, 90))
        stripe, stripes = on((206, 210, 216) if white else (250, 250, 246)), 5
        for index in range(stripes):
            low, high = index / stripes, (index + 1) / stripes
            wide, narrow = 0.085 - 0.035 * low, 0.085 - 0.035 * high
            band = [(-wide, 0.42 * low), (-narrow, 0.42 * high), (narrow, 0.42 * high), (wide, 0.42 * low)]
            self._polygon(band, stripe if index % 2 else color)
        self._box(-0.07, 0.42, 0.07, 0.44, on((60, 60, 70)))
        self._box(-0.038, 0.44, 0.038, 0.51, (255, 240, 150))
        self._polygon([(-0.055, 0.51), (0, 0.57), (0.055, 0.51)], on((120, 120, 130)) if white else color)


PALETTE: dict[str, Color] = {
    "red": (214, 52, 48),
    "blue": (44, 98, 208),
    "yellow": (246, 206, 52),
    "green": (58, 160, 72),
    "white": (244, 244, 240),
    "orange": (242, 136, 36),
    "purple": (138, 70, 182),
    "pink": (244, 130, 178),
}
