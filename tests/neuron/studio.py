"""Managers on the emulated device, and what they made, in numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import tiny_pipelines
from accel_ui.manager import PipelineManager
from accel_ui.pictures import check_picture
from accel_ui.requests import Done, Event
from accel_ui.settings import Settings

PROMPT = "A red house on a green hill"
PRESETS = """
[presets.square]
height = 32
width = 32
steps = 2
max_sequence_length = 32
[presets.wide]
height = 32
width = 64
steps = 3
max_sequence_length = 32
[presets.guided]
height = 48
width = 32
steps = 2
max_sequence_length = 32
guidance_scale = 5.0
true_cfg_scale = 2.0
[presets.long]
height = 32
width = 32
steps = 7
max_sequence_length = 32
"""


class Studio:
    """Managers for one model in one folder.

    Args:
        model: ``tiny`` (the embedded one), or a name of `tiny_pipelines.PIPELINES`.
    """

    def __init__(self, folder: Path, model: str):
        self.folder = folder
        self.model = model if model == "tiny" else str(tiny_pipelines.write(model, folder))
        self.presets = folder / "presets.toml"
        self.presets.write_text(PRESETS)

    def settings(self, **changes: Any) -> Settings:
        """For the neuron device unless `changes` name another."""
        values = {
            "model": self.model,
            "device": "neuron",
            "presets": self.presets,
            "warmup": "none",
            "cache_dir": self.folder / "cache",
            "output_dir": self.folder / "outputs",
        }
        return Settings(**{**values, **changes})

    def open(self, **changes: Any) -> PipelineManager:
        """A manager that has loaded, or failed to."""
        manager = PipelineManager(self.settings(**changes))
        manager.start()
        manager.wait_until_loaded()
        return manager


def events(manager: PipelineManager, preset: str, seed: int = 0, prompt: str = PROMPT) -> list[Event]:
    """All events of one request."""
    return list(manager.generate(manager.request(prompt, preset, seed)))


def picture(manager: PipelineManager, preset: str, seed: int = 0, prompt: str = PROMPT) -> np.ndarray:
    """The picture of one request as height x width x 3 floats from 0 to 1: before it is rounded to 255 levels."""
    with mock.patch("accel_ui.engine.check_picture", wraps=check_picture) as check:
        *_, last = events(manager, preset, seed, prompt)
    assert isinstance(last, Done), last
    return check.call_args.args[0]


def graphs_of(manager: PipelineManager) -> dict[str, dict[str, int]]:
    """Graphs that each preset took, by target, as the ledger has them."""
    graphs: dict[str, dict[str, int]] = {}
    for row in manager.ledger.rows():
        targets = graphs.setdefault(row["preset"], {})
        targets[row["target"]] = targets.get(row["target"], 0) + row["graphs"]
    return graphs
