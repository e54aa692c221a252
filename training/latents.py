"""The latent space: a fixed linear code of 8x8 patches, found by principal component analysis.

A fixed code costs seconds instead of hours: no encoder has to be trained before the transformer can start,
and the latents need no scaling or shift. The AutoencoderKL's decoder is trained to draw from this code (and
finds 3 dB and more that the linear inverse cannot); its encoder is written down, see encoder.py.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from .config import FORMATS, LATENT_CHANNELS, VAE_FACTOR
from .world import render, sample_scene

BASIS_SCENES = 3000
BASIS_PATCHES = 300_000


@dataclass(frozen=True)
class LatentBasis:
    """`latent = (patch - mean) @ encode` for patches of 8x8x3 values in -1..1."""

    mean: torch.Tensor
    encode: torch.Tensor

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        """Latents (n, channels, h/8, w/8) of pictures (n, h, w, 3) in uint8."""
        count, height, width, _ = pixels.shape
        rows, columns = height // VAE_FACTOR, width // VAE_FACTOR
        patches = (pixels.float() / 127.5 - 1).view(count, rows, VAE_FACTOR, columns, VAE_FACTOR, 3)
        patches = patches.permute(0, 1, 3, 2, 4, 5).reshape(count, rows, columns, -1)
        return ((patches - self.mean) @ self.encode).permute(0, 3, 1, 2)

    def save(self, path: Path) -> None:
        temporary = path.with_suffix(".tmp")
        save_file({"mean": self.mean.contiguous(), "encode": self.encode.contiguous()}, temporary)
        temporary.replace(path)

    @classmethod
    def load(cls, path: Path) -> LatentBasis:
        return cls(**load_file(path))


def find_basis(seed: int) -> LatentBasis:
    """Principal components of the patches of square scenes."""
    width, height = FORMATS["square"]
    pictures = []
    for index in range(BASIS_SCENES):
        rng = random.Random(f"{seed}/basis/{index}")
        pictures.append(np.asarray(render(sample_scene(rng), width, height, rng).image))
    pixels = np.stack(pictures).astype(np.float32) / 127.5 - 1
    patches = pixels.reshape(len(pixels), height // VAE_FACTOR, VAE_FACTOR, width // VAE_FACTOR, VAE_FACTOR, 3)
    patches = patches.transpose(0, 1, 3, 2, 4, 5).reshape(-1, VAE_FACTOR * VAE_FACTOR * 3)
    patches = patches[np.random.default_rng(seed).permutation(len(patches))[:BASIS_PATCHES]]
    mean = patches.mean(0)
    variances, vectors = np.linalg.eigh((patches - mean).T @ (patches - mean) / len(patches))
    order = np.argsort(variances)[::-1][:LATENT_CHANNELS]
    return basis_from_components(mean, vectors[:, order], np.sqrt(variances[order]))


def basis_from_components(mean: np.ndarray, vectors: np.ndarray, deviations: np.ndarray) -> LatentBasis:
    """Scale each component to the square root of its deviation, and all of them to an rms of one.

    Full whitening would spend the transformer on invisible detail, no scaling on brightness alone.
    """
    target = np.sqrt(deviations)
    encode = vectors * (target / deviations) / np.sqrt((target**2).mean())
    return LatentBasis(torch.tensor(mean, dtype=torch.float32), torch.tensor(encode.copy(), dtype=torch.float32))
