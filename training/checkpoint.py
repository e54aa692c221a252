"""Files that are the old or the new, never half of one: a kill at any moment leaves a good checkpoint."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch


def save(state: dict[str, Any], path: Path) -> None:
    """Write next to the target, then rename over it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def load(path: Path, device: str = "cpu") -> dict[str, Any]:
    return torch.load(path, map_location=device, weights_only=True)
