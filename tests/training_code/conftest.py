"""A training run in miniature, shared by the tests: a few scenes, real tokenizers, an untrained model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

# With libtpu installed on a machine without a TPU, loading torch stalls for minutes.
os.environ.setdefault("USE_TORCH_XLA", "0")

import torch

from training import data, latents, stages, tokenizers
from training.config import Run
from training.data import ShardName


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Tokenizers, latent basis and one small shard of two formats."""
    run = Run(tmp_path_factory.mktemp("run"), seed=0, device="cpu", processes=1)
    patch = pytest.MonkeyPatch()
    patch.setattr(tokenizers, "CORPUS_SCENES", 400)
    patch.setattr(latents, "BASIS_SCENES", 30)
    patch.setattr(data, "SHARD_SIZE", 6)
    torch.set_num_threads(1)
    plan = stages.Plan(run, Path("unused"), seconds=60, samples=1)
    stages.tokenizers(plan)
    stages.latents(plan)
    encoders = data.Encoders.of(run)
    for name in ("square", "portrait"):
        data.make_shard(ShardName(name, 0), run.data, encoders, run.seed)
    yield run
    patch.undo()
