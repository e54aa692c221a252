"""From a scene to a picture, with the boxes of what matters in it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from PIL import Image

from .canvas import OVERSAMPLING, Canvas, Curve
from .ground import draw_ground
from .objects import EXTENTS, ObjectPainter, Place
from .sky import draw_birds, draw_rain, draw_sky
from .spec import LAND, Scene, SceneObject

OBJECT_X = {"left": 0.21, "center": 0.5, "right": 0.79}
MARGIN = 0.02  # of the width, kept free beside an object
LARGEST, SMALLEST = 1.12, 0.62  # sizes of objects, in canvas units
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Rendering:
    """A picture and the boxes (left, top, right, bottom; pixels) of its objects and its sun or moon."""

    image: Image.Image
    boxes: tuple[Box, ...]


def render(scene: Scene, width: int, height: int, rng: random.Random) -> Rendering:
    """Draw a scene; `rng` decides what the scene leaves open (ridges, clouds, exact places)."""
    canvas = Canvas(scene, width, height, rng)
    boxes = []
    body = draw_sky(canvas)
    if body is not None:
        x, y, radius = body
        boxes.append((x - radius, y - radius, x + radius, y + radius))
    standing_line = draw_ground(canvas, body)
    if scene.birds:
        draw_birds(canvas)
    largest = _largest_size(canvas)
    for thing in sorted(scene.objects, key=lambda thing: thing.kind == "balloon"):  # balloons fly in front
        place = _place(canvas, thing, largest, standing_line)
        painter = ObjectPainter(canvas, thing, place)
        if scene.terrain in LAND and thing.kind != "balloon":
            painter.shadow()
        painter.paint()
        boxes.append(_box(thing, place))
    if scene.rain:
        draw_rain(canvas)
    return Rendering(canvas.reduced(), tuple(tuple(edge / OVERSAMPLING for edge in box) for box in boxes))


def _largest_size(canvas: Canvas) -> float:
    """The size at which the scene's objects fit side by side without touching."""
    grounded = [thing for thing in canvas.scene.objects if thing.kind != "balloon"]
    size = LARGEST
    if len(grounded) == 2:
        widths = sum(2 * EXTENTS[thing.kind].half_width for thing in grounded)
        adjacent = any(thing.position == "center" for thing in grounded)
        # Beside a centred object there is room for the other one and for half of it.
        if adjacent:
            middle = next(thing for thing in grounded if thing.position == "center")
            widths -= EXTENTS[middle.kind].half_width
        room = canvas.width * ((0.5 if adjacent else 1.0) - 2 * MARGIN)
        size = min(size, room / (widths * canvas.unit))
    return max(size, SMALLEST)


def _place(canvas: Canvas, thing: SceneObject, largest: float, standing_line: Curve) -> Place:
    rng, half = canvas.rng, EXTENTS[thing.kind].half_width
    size = canvas.unit * largest * rng.uniform(0.92, 1.0)
    x = (OBJECT_X[thing.position] + rng.uniform(-0.02, 0.02)) * canvas.width
    edge = half * size + MARGIN * canvas.width
    x = min(max(x, edge), canvas.width - edge)  # whole objects: nothing is cut by the frame
    y = canvas.horizon * rng.uniform(0.34, 0.42) if thing.kind == "balloon" else standing_line(x) + canvas.unit * 0.06
    return Place(x, y, size, glow_side=-1 if x > canvas.width / 2 else 1)


def _box(thing: SceneObject, place: Place) -> Box:
    extent = EXTENTS[thing.kind]
    left, right = place.x - extent.half_width * place.size, place.x + extent.half_width * place.size
    return left, place.y - extent.above * place.size, right, place.y + extent.below * place.size
