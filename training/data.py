"""Training data on disk: shards of latents, object masks, captions, and (for the VAE) some pictures.

A shard is a folder that appears under its final name only when complete, so that making data can be stopped
and taken up again at any time, and several processes can share the work.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from transformers import CLIPTokenizer, T5TokenizerFast

from .config import CAPTIONS_PER_SCENE, FORMATS, SHARD_SIZE, TEXT_LENGTH, TOKEN_FACTOR, Run
from .latents import LatentBasis
from .tokenizers import load_tokenizers, token_ids
from .world import Rendering, Scene, caption, render, sample_scene

PICTURE_SHARDS = 2  # of each format keep their pixels: 4,000 pictures are plenty for the VAE
LATENT_BATCH = 250


@dataclass(frozen=True)
class ShardName:
    """One shard of one format."""

    format: str
    index: int

    def folder(self, data: Path) -> Path:
        return data / f"{self.format}-{self.index:03d}"


def planned_shards(shards: dict[str, int]) -> Iterator[ShardName]:
    """All shards, the formats interleaved, so that an early stop leaves some of each."""
    for index in range(max(shards.values())):
        for name, count in shards.items():
            if index < count:
                yield ShardName(name, index)


def scene_and_rng(seed: int, format_name: str, index: int) -> tuple[Scene, random.Random]:
    """The scene with this number, and the generator that draws and describes it."""
    rng = random.Random(f"{seed}/train/{format_name}/{index}")
    return sample_scene(rng), rng


@dataclass(frozen=True)
class Encoders:
    """What turns pictures and captions into training data."""

    basis: LatentBasis
    clip: CLIPTokenizer
    t5: T5TokenizerFast

    @classmethod
    def of(cls, run: Run) -> Encoders:
        return cls(LatentBasis.load(run.basis_file), *load_tokenizers(run.tokenizers))


def make_shard(name: ShardName, data: Path, encoders: Encoders, seed: int) -> None:
    """Draw and encode one shard, unless it is there."""
    target = name.folder(data)
    if target.exists():
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    width, height = FORMATS[name.format]
    pictures = np.empty((SHARD_SIZE, height, width, 3), np.uint8)
    coverage = np.empty((SHARD_SIZE, height // TOKEN_FACTOR, width // TOKEN_FACTOR), np.uint8)
    captions = []
    for row in range(SHARD_SIZE):
        scene, rng = scene_and_rng(seed, name.format, name.index * SHARD_SIZE + row)
        rendering = render(scene, width, height, rng)
        pictures[row] = np.asarray(rendering.image)
        coverage[row] = object_coverage(rendering, width, height)
        captions.append([caption(scene, rng) for _ in range(CAPTIONS_PER_SCENE)])
    pixels = torch.from_numpy(pictures)
    chunks = [encoders.basis(chunk).half() for chunk in pixels.split(LATENT_BATCH)]
    np.save(temporary / "latents.npy", torch.cat(chunks).numpy())
    np.save(temporary / "coverage.npy", coverage)
    np.save(temporary / "clip_ids.npy", _caption_ids(encoders.clip, captions))
    np.save(temporary / "t5_ids.npy", _caption_ids(encoders.t5, captions))
    if name.index < PICTURE_SHARDS:
        np.save(temporary / "pictures.npy", pictures)
    if target.exists():  # another process was faster
        shutil.rmtree(temporary)
    else:
        temporary.replace(target)


def _caption_ids(tokenizer: CLIPTokenizer | T5TokenizerFast, captions: list[list[str]]) -> np.ndarray:
    """Token ids (scenes, captions, tokens)."""
    ids = token_ids(tokenizer, [text for texts in captions for text in texts])
    return np.array(ids, np.int16).reshape(len(captions), -1, TEXT_LENGTH)


def object_coverage(rendering: Rendering, width: int, height: int) -> np.ndarray:
    """How much of every token an object or the sky body covers, 0..255."""
    rows, columns = height // TOKEN_FACTOR, width // TOKEN_FACTOR
    share = np.zeros((rows, columns))
    for left, top, right, bottom in rendering.boxes:
        across = _overlap(left, right, columns)
        down = _overlap(top, bottom, rows)
        share = np.maximum(share, down[:, None] * across[None, :])
    return np.round(share * 255).astype(np.uint8)


def _overlap(start: float, stop: float, cells: int) -> np.ndarray:
    """The share of each cell of a row that lies between two coordinates."""
    edges = np.arange(cells) * TOKEN_FACTOR
    return np.clip(np.minimum(stop, edges + TOKEN_FACTOR) - np.maximum(start, edges), 0, TOKEN_FACTOR) / TOKEN_FACTOR


def load_pictures(data: Path, format_name: str) -> np.ndarray:
    """All pictures kept for one format, as one array that is read from disk on demand where possible."""
    files = sorted(data.glob(f"{format_name}-*/pictures.npy"))
    return np.concatenate([np.load(file) for file in files])
