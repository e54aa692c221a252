"""Defaults on a Hugging Face Space: the address that its proxy asks, and the disk that outlives a restart."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

STORAGE = Path("/data")  # where a Space's storage is mounted, if it has any


def space_defaults() -> dict[str, str]:
    """Variables for what the user has not set; none outside a Space."""
    if not os.environ.get("SPACE_ID"):
        return {}
    defaults = {"GRADIO_SERVER_NAME": "0.0.0.0"}
    if _writable(STORAGE):
        defaults["ACCEL_UI_CACHE_DIR"] = str(STORAGE / "accel-ui")
        defaults["ACCEL_UI_OUTPUT_DIR"] = str(STORAGE / "outputs")
    return defaults


def _writable(folder: Path) -> bool:
    """By writing: a mounted bucket may say one thing and do another."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True
