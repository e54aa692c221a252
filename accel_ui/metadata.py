"""The parameters of a picture inside its PNG: written and read back; those of AUTOMATIC1111 are read too."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, PngImagePlugin

from accel_ui.presets import Preset
from accel_ui.requests import MAX_PROMPT_CHARACTERS, MAX_SEED

OUR_KEY, FOREIGN_KEY = "accel_ui", "parameters"


def text_chunk(info: dict[str, Any]) -> PngImagePlugin.PngInfo:
    """`info` as an international text chunk."""
    chunk = PngImagePlugin.PngInfo()
    chunk.add_itxt(OUR_KEY, json.dumps(info, ensure_ascii=False))
    return chunk


def read_info(path: Path | str) -> dict[str, Any] | None:
    """The parameters that :func:`text_chunk` wrote; None when there are none, or the file is no picture."""
    text = _texts(path).get(OUR_KEY)
    try:
        info = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    return info if isinstance(info, dict) else None


def _texts(path: Path | str) -> Mapping[str, str]:
    try:
        with Image.open(path) as image:
            return dict(getattr(image, "text", {}))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return {}


@dataclass(frozen=True)
class Restored:
    """What a picture tells about how to make it again.

    Attributes:
        preset: id of one of the presets at hand, or None when none draws this size.
        notices: what could not be restored, in words.
    """

    prompt: str = ""
    negative_prompt: str = ""
    seed: int | None = None
    preset: str | None = None
    notices: tuple[str, ...] = ()


def restore(path: Path | str, presets: Mapping[str, Preset], model: str) -> Restored:
    """Reads the parameters of a PNG made here or by AUTOMATIC1111.

    Args:
        presets: those at hand, by id.
        model: the one that is loaded.
    """
    info = read_info(path)
    if info is None:
        info = _foreign(_texts(path).get(FOREIGN_KEY, ""))
    if not info:
        return Restored(notices=("This picture carries no parameters: drop a PNG as it was downloaded here.",))
    notices = []
    prompt, negative = (str(info.get(name) or "")[:MAX_PROMPT_CHARACTERS] for name in ("prompt", "negative_prompt"))
    seed = info.get("seed")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
        seed = None
        notices.append("Its seed could not be read.")
    preset = _matching(info, presets)
    if preset is None:
        notices.append(f"No preset here draws {info.get('width')} x {info.get('height')}: the chosen one stays.")
    if info.get("model") != model:
        notices.append(
            f"It was made with {str(info.get('model') or 'another model')[:100]}: this model will draw it differently."
        )
    return Restored(prompt, negative, seed, preset, tuple(notices))


def _matching(info: Mapping[str, Any], presets: Mapping[str, Preset]) -> str | None:
    def same(preset: Preset, *names: str) -> bool:
        return all(getattr(preset, name) == info.get(name) for name in names)

    own = presets.get(str(info.get("preset")))
    if own and same(own, "width", "height", "steps"):
        return own.id
    for names in (("width", "height", "steps"), ("width", "height")):
        for preset in presets.values():
            if same(preset, *names):
                return preset.id
    return None


def _foreign(text: str) -> dict[str, Any]:
    """AUTOMATIC1111's lines: the prompt, `Negative prompt: ...`, then `Steps: 20, Seed: 1, Size: 512x768, ...`."""
    head, found, tail = text.rpartition("\nSteps: ")
    if not found:
        return {}
    prompt, _, negative = head.partition("\nNegative prompt: ")
    values = dict(re.findall(r"([\w ]+): ([^,]*)(?:, |$)", "Steps: " + tail))
    width, _, height = values.get("Size", "").partition("x")

    def number(value: str) -> int | None:
        return int(value) if value.isdecimal() and len(value) <= 20 else None

    return {
        "prompt": prompt,
        "negative_prompt": negative,
        "seed": number(values.get("Seed", "")),
        "steps": number(values.get("Steps", "")),
        "width": number(width),
        "height": number(height),
        "model": values.get("Model"),
    }
