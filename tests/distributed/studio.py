"""Servers under torchrun, and the pictures that one process draws."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from gradio_client import Client
from PIL import Image

import tiny_pipelines
from accel_ui.manager import PipelineManager
from accel_ui.requests import Done
from accel_ui.settings import Settings
from conftest import ROOT, Server

PRESETS = """
[presets.square]
height = 32
width = 32
steps = 2
max_sequence_length = 32
[presets.slow]
label = "Slow"
height = 32
width = 32
steps = 500
max_sequence_length = 32
"""
LEVELS = 1  # of 255, by which a picture may differ from the one that one process draws
ON_NEURON = ROOT / "tests" / "distributed" / "on_neuron.py"
PATIENCE = 240  # seconds


class TorchrunServer(Server):
    """`torchrun --nproc_per_node RANKS app.py` on the emulated device, with `model` of tiny_pipelines."""

    def __init__(self, folder: Path, model: str, ranks: int, *options: str, **env: str):
        torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks))
        self.command = (*torchrun, *options, str(ON_NEURON), str(ROOT / "app.py"))
        (folder / "presets.toml").write_text(PRESETS)
        super().__init__(
            folder,
            PYTHONPATH=os.pathsep.join([str(ROOT / "tests"), str(ROOT)]),
            OMP_NUM_THREADS="1",
            ACCEL_UI_MODEL=str(tiny_pipelines.write(model, folder)),
            ACCEL_UI_PRESETS="presets.toml",
            ACCEL_UI_DEVICE="neuron",
            ACCEL_UI_DTYPE="float32",
            ACCEL_UI_CACHE_DIR=str(folder / "cache"),
            **{"ACCEL_UI_WARMUP": "none", **env},
        )

    def connect(self) -> Client:
        """A client, once the model is loaded."""
        self.wait_for_port(PATIENCE)
        client = Client(self.url, verbose=False)
        status = self.wait_until_loaded(client)
        assert status["phase"] == "ready", status["reason"]
        return client

    def ranks(self) -> dict[int, psutil.Process]:
        """The processes that torchrun started, by rank."""
        found = {}
        for process in psutil.Process(self.process.pid).children(recursive=True):
            if str(ON_NEURON) in process.cmdline():
                found[int(process.environ()["RANK"])] = process
        return found

    def end(self) -> int:
        """Waits for the end; returns the exit code of torchrun."""
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        """Ends what is left."""
        try:
            processes = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            processes = []
        for process in (*processes, self.process):
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        self.process.wait(PATIENCE)


@contextmanager
def one_process(folder: Path, model: str) -> Iterator[PipelineManager]:
    """A manager without torchrun, on the CPU."""
    (folder / "presets.toml").write_text(PRESETS)
    manager = PipelineManager(
        Settings(
            model=str(tiny_pipelines.write(model, folder)),
            presets=folder / "presets.toml",
            device="cpu",
            mode="eager",
            dtype="float32",
            cache_dir=folder / "cache",
            output_dir=folder / "outputs",
        )
    )
    manager.start()
    manager.wait_until_loaded()
    yield manager
    manager.close()


def drawn_alone(manager: PipelineManager, prompt: str, preset: str, seed: int) -> np.ndarray:
    """Height x width x 3 levels."""
    *_, last = manager.generate(manager.request(prompt, preset, seed))
    assert isinstance(last, Done), last
    return np.asarray(last.result.images[0], dtype=int)


def levels(path: str | Path) -> np.ndarray:
    """Height x width x 3 levels of a file."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), dtype=int)


def draw(client: Client, prompt: str, preset: str = "square", seed: int = 0) -> tuple[np.ndarray, dict[str, Any]]:
    """Through the API: the picture, and what the API says of it."""
    path, info = client.predict(prompt, preset, seed, api_name="/generate")
    return levels(path), info
