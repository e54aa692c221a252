"""Training batches for the transformer, the same for the same seed, process and step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from .config import FORMAT_SHARES
from .model import pack
from .tokenizers import load_tokenizers, token_ids

UNCONDITIONAL_SHARE = 0.1  # of the captions are emptied, for classifier-free guidance


@dataclass(frozen=True)
class Batch:
    """Packed latents (n, tokens, channels), token ids, and how much of each token an object covers (0..1)."""

    format: str
    latents: torch.Tensor
    clip_ids: torch.Tensor
    t5_ids: torch.Tensor
    coverage: torch.Tensor

    def to(self, device: str) -> Batch:
        moved = (tensor.to(device) for tensor in (self.latents, self.clip_ids, self.t5_ids, self.coverage))
        return Batch(self.format, *moved)


class BatchSource:
    """Draws batches from the shards in the data folder; every batch is of one format."""

    def __init__(self, data: Path, tokenizers: Path, seed: int, rank: int) -> None:
        self.seed, self.rank = seed, rank
        clip, t5 = load_tokenizers(tokenizers)
        self.empty_clip, self.empty_t5 = (np.array(token_ids(tokenizer, [""])[0]) for tokenizer in (clip, t5))
        self.formats = [name for name in FORMAT_SHARES if any(data.glob(f"{name}-*"))]
        weights = np.array([FORMAT_SHARES[name] for name in self.formats])
        self.shares = weights / weights.sum()
        self.shards = {name: [_open(f) for f in sorted(data.glob(f"{name}-*"))] for name in self.formats}

    def draw(self, step: int, size: int, unconditional: float = UNCONDITIONAL_SHARE) -> Batch:
        """The batch of this step. All processes take the same format, so that they stay in step."""
        name = str(np.random.default_rng((self.seed, step)).choice(self.formats, p=self.shares))
        rng = np.random.default_rng((self.seed, step, self.rank))
        shards = self.shards[name]
        sources = [shards[index] for index in rng.integers(len(shards), size=size)]
        rows = [int(rng.integers(len(shard["latents"]))) for shard in sources]
        texts = [int(rng.integers(shard["t5_ids"].shape[1])) for shard in sources]
        picks = list(zip(sources, rows, texts, strict=True))
        latents = np.stack([shard["latents"][row] for shard, row, _ in picks])
        coverage = np.stack([shard["coverage"][row] for shard, row, _ in picks])
        clip_ids = np.stack([shard["clip_ids"][row, text] for shard, row, text in picks]).astype(np.int64)
        t5_ids = np.stack([shard["t5_ids"][row, text] for shard, row, text in picks]).astype(np.int64)
        emptied = rng.random(size) < unconditional
        clip_ids[emptied], t5_ids[emptied] = self.empty_clip, self.empty_t5
        return Batch(
            name,
            pack(torch.from_numpy(latents.astype(np.float32))),
            torch.from_numpy(clip_ids),
            torch.from_numpy(t5_ids),
            torch.from_numpy(coverage.reshape(size, -1).astype(np.float32) / 255),
        )


def _open(shard: Path) -> dict[str, np.ndarray]:
    """A shard's arrays, read from disk on demand."""
    names = ("latents", "coverage", "clip_ids", "t5_ids")
    return {name: np.load(shard / f"{name}.npy", mmap_mode="r") for name in names}
