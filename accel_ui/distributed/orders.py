"""What rank 0 tells the others. Light: rank 0 answers its port before torch is imported."""

from __future__ import annotations

from dataclasses import dataclass

from accel_ui.errors import UserError
from accel_ui.requests import GenerationRequest

GONE = (
    "One of the processes that share this model has ended or does not answer, so the others end too: "
    "torchrun, or whatever started it, must start them again."
)


class RanksLost(UserError):
    """The ranks no longer work together; only a new start helps."""


@dataclass(frozen=True)
class Run:
    """Make this picture."""

    request: GenerationRequest
    may_compile: bool
    warm_up: bool


@dataclass(frozen=True)
class GiveUp:
    """This preset stays eager."""

    preset: str
    why: str


@dataclass(frozen=True)
class Pulse:
    """Comes now and then while nothing happens: connections stay open, and a dead rank is found."""


@dataclass(frozen=True)
class Goodbye:
    """The end."""


Order = Run | GiveUp | Pulse | Goodbye
