"""The only contract between the page, the API, the commands and the pipeline manager.

A :class:`GenerationRequest` goes in; a stream of small events comes out and ends with :class:`Done` or
:class:`Failed`. Nothing here knows torch, diffusers or gradio.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from accel_ui.errors import UserError

if TYPE_CHECKING:
    from PIL.Image import Image

    from accel_ui.presets import Preset

MAX_PROMPT_CHARACTERS = 16_000  # about 2,500 words; no text encoder here reads more than 512 tokens
MAX_SEED = 2**63 - 1  # the largest seed that survives a signed 64-bit integer on its way through JSON and databases
RANDOM_SEED = "random"


class RequestError(UserError):
    """The user asked for something that cannot be done, or not now.

    Attributes:
        kind: one word for the metrics: ``invalid``, ``queue_full``, ``client_share``, ``not_loaded``,
            ``closing``, ``not_signed_in``.
    """

    def __init__(self, message: str, kind: str = "invalid"):
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class GenerationRequest:
    """One picture to make. Sizes and steps are not here: they belong to the preset.

    Build it with :meth:`checked` from anything that comes from outside.

    Attributes:
        owner: secret word of the browser whose history the picture goes to; None for programs.
    """

    prompt: str
    preset: str
    seed: int
    negative_prompt: str = ""
    owner: str | None = field(default=None, repr=False)

    @classmethod
    def checked(
        cls,
        prompt: object,
        preset: object,
        seed: object = RANDOM_SEED,
        negative_prompt: object = "",
        *,
        presets: Collection[str],
    ) -> GenerationRequest:
        """Validates values from a browser, an HTTP client or a command line.

        Args:
            seed: a whole number from 0 to 2**63 - 1, as an int or its digits, or ``"random"``.
            presets: ids of the presets that exist.

        Raises:
            RequestError: naming the first value that cannot be used.
        """
        if not isinstance(preset, str) or preset not in presets:
            raise RequestError(f"There is no preset {_shown(preset)}: choose one of {', '.join(presets)}.")
        return cls(
            prompt=_checked_text(prompt, "prompt", empty=False),
            preset=preset,
            seed=_checked_seed(seed),
            negative_prompt=_checked_text(negative_prompt, "negative prompt", empty=True),
        )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _checked_text(value: object, name: str, *, empty: bool) -> str:
    if not isinstance(value, str):
        raise RequestError(f"The {name} must be text, not {_shown(value)}.")
    text = value.strip()
    if not text and not empty:
        raise RequestError(f"The {name} is empty: describe the picture you want.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise RequestError(f"The {name} holds half a character: type it again.")
    if len(text) > MAX_PROMPT_CHARACTERS:
        raise RequestError(
            f"The {name} has {len(text):,} characters: shorten it to {MAX_PROMPT_CHARACTERS:,} or fewer."
        )
    return text


def _checked_seed(value: object) -> int:
    if value == RANDOM_SEED:
        return random_seed()
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) <= 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SEED:
        raise RequestError(
            f"The seed {_shown(value)} cannot be used: give a whole number from 0 to {MAX_SEED}, or leave it out."
        )
    return value


def random_seed() -> int:
    """A fresh seed, short enough to read aloud and exact as a JavaScript number."""
    return secrets.randbelow(2**32)


@dataclass(frozen=True)
class Timings:
    """Seconds spent in each stage of a run. `compile` is not part of the stage that waited for it."""

    queue: float = 0.0
    encode: float = 0.0
    compile: float = 0.0
    denoise: float = 0.0
    decode: float = 0.0

    @property
    def total(self) -> float:
        """Seconds from the request to the picture."""
        return self.queue + self.encode + self.compile + self.denoise + self.decode


@dataclass(frozen=True)
class GenerationResult:
    """A finished run: its pictures, where they are kept, and every parameter that made them."""

    request: GenerationRequest
    preset: Preset
    model: str
    device: str
    dtype: str
    mode: str
    images: Sequence[Image] = field(repr=False)
    paths: Sequence[Path] = ()
    timings: Timings = Timings()
    graphs_compiled: int = 0
    programs_compiled: int | None = None
    notices: Sequence[str] = ()

    def info(self) -> dict:
        """Everything but the pixels, ready for JSON: what the API answers and what the PNG carries."""
        numbers = {name: value for name, value in asdict(self.preset).items() if name not in ("id", "label")}
        seconds = {**asdict(self.timings), "total": self.timings.total}
        return {
            "prompt": self.request.prompt,
            "negative_prompt": self.request.negative_prompt,
            "preset": self.request.preset,
            "seed": self.request.seed,
            "model": self.model,
            **numbers,
            "device": self.device,
            "dtype": self.dtype,
            "mode": self.mode,
            "timings": {stage: round(value, 4) for stage, value in seconds.items()},
            "graphs_compiled": self.graphs_compiled,
            "programs_compiled": self.programs_compiled,
            "notices": list(self.notices),
        }


@dataclass(frozen=True)
class Queued:
    """The request waits; `position` 0 is the next to run, `reason` says what it waits for."""

    position: int
    reason: str = ""


@dataclass(frozen=True)
class Encoding:
    """The text encoders read the prompt."""


@dataclass(frozen=True)
class Compiling:
    """A graph of `component` is being made for `preset`; repeated with the seconds `elapsed` so far."""

    component: str
    preset: str
    elapsed: float = 0.0


@dataclass(frozen=True)
class Step:
    """Denoising step `index` of `count` is over (1-based); now and then with a small preview of the picture."""

    index: int
    count: int
    preview: Image | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Decoding:
    """The VAE turns the latents into pixels."""


@dataclass(frozen=True)
class Done:
    """The last event of a run that made its pictures."""

    result: GenerationResult


@dataclass(frozen=True)
class Failed:
    """The last event of a run that did not; `reason` is one sentence for the user.

    `stopped` is true when it was ended by the user or the time limit; `refused` when it never began.
    """

    reason: str
    stopped: bool = False
    refused: bool = False


Event = Queued | Encoding | Compiling | Step | Decoding | Done | Failed
