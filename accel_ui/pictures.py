"""From a pipeline's numbers to a picture that is worth showing, and to a file that tells how it was made."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from accel_ui.errors import UserError
from accel_ui.metadata import text_chunk
from accel_ui.requests import GenerationResult

FLAT = 1.5 / 255  # a picture whose brightest and darkest values are this close has one colour


class BadPicture(UserError):
    """The run ended, but its numbers are no picture."""


class NotSaved(UserError):
    """The picture was made, but the disk does not take it."""


def check_picture(pixels: np.ndarray, dtype: str) -> None:
    """Refuses NaN, infinity and a single flat colour: what half precision leaves of a picture that overflowed.

    Args:
        pixels: height x width x 3, from 0 to 1.

    Raises:
        BadPicture
    """
    if not np.isfinite(pixels).all():
        problem = "not-a-number values"
    elif (pixels.max(axis=(0, 1)) - pixels.min(axis=(0, 1))).max() < FLAT:
        problem = "one flat colour"
    else:
        return
    advice = "set ACCEL_UI_DTYPE=float32" if dtype == "bfloat16" else "set ACCEL_UI_DTYPE=bfloat16 or float32"
    if dtype == "float32":
        advice = "try another seed, or check that the model's files are whole"
    raise BadPicture(f"The model gave {problem} in place of a picture ({dtype}); {advice}.")


def to_image(pixels: np.ndarray) -> Image.Image:
    """Height x width x 3 floats from 0 to 1 -> an RGB picture."""
    return Image.fromarray((pixels * 255).round().clip(0, 255).astype(np.uint8))


def save_picture(image: Image.Image, folder: Path, info: dict[str, Any]) -> Path:
    """Writes a PNG that carries `info`, whole or not at all. The name sorts by time and cannot be guessed.

    Raises:
        NotSaved
    """
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    path = folder / f"{stamp}-{info['preset']}-{info['seed']}-{uuid.uuid4().hex[:12]}.png"
    draft = path.with_suffix(".part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        image.save(draft, format="PNG", pnginfo=text_chunk(info))
        os.replace(draft, path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise NotSaved(
            f"The picture was made but could not be saved ({error.strerror}): make room in ACCEL_UI_OUTPUT_DIR and try again."
        ) from error
    return path


def save_result(result: GenerationResult, folder: Path) -> GenerationResult:
    """The same result with its pictures on disk; each file carries every parameter."""
    info = result.info()
    return replace(result, paths=[save_picture(image, folder, info) for image in result.images])
