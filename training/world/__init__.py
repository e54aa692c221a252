"""The procedural scene world: what a little landscape may hold, how it is drawn, how it is described."""

from .captions import caption
from .render import Rendering, render
from .spec import Scene, SceneObject, sample_scene

__all__ = ["Rendering", "Scene", "SceneObject", "caption", "render", "sample_scene"]
