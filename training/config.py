"""The numbers that several parts of the training must agree on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import torch

# Width and height of every picture format, and its share of the training samples.
FORMATS = {"square": (128, 128), "landscape": (160, 96), "portrait": (96, 160), "large": (192, 128)}
FORMAT_SHARES = {"square": 0.54, "landscape": 0.20, "portrait": 0.20, "large": 0.06}

VAE_FACTOR = 8  # pixels per latent cell; AutoencoderKL with four blocks
TOKEN_FACTOR = 16  # pixels per transformer token; FluxPipeline packs 2x2 latent cells
LATENT_CHANNELS = 12  # 8x8x3 patches keep 27.1 dB in 12 principal components; the decoder finds more
TEXT_LENGTH = 32  # tokens; 97 % of the captions are shorter

SHARD_SIZE = 2000  # scenes in one file of training data
CAPTIONS_PER_SCENE = 6


@dataclass(frozen=True)
class Run:
    """One training run: the folder of its data and checkpoints, and what it runs on."""

    folder: Path
    seed: int
    device: str
    processes: int

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def tokenizers(self) -> Path:
        return self.folder / "tokenizers"

    @property
    def basis_file(self) -> Path:
        return self.folder / "latent_basis.safetensors"

    @property
    def decoder_file(self) -> Path:
        return self.folder / "vae_decoder.pt"

    @property
    def judge_file(self) -> Path:
        return self.folder / "judge.pt"

    @property
    def flow_file(self) -> Path:
        return self.folder / "flow.pt"

    @property
    def flow_start_file(self) -> Path:
        return self.folder / "flow_start.pt"


def default_device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def default_processes(device: str) -> int:
    """One process drives a GPU; on a CPU one single-threaded process per core, at most two, is fastest."""
    return 1 if device != "cpu" else min(2, os.cpu_count() or 1)
