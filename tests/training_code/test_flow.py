"""Training: it goes on from its checkpoint, and a broken write never replaces a good one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from training import checkpoint, flow
from training.batches import BatchSource
from training.config import Run
from training.flow import FlowTask, train_flow
from training.muon import orthogonalised
from training.parallel import Team
from training.schedule import Pace

ALONE = Team(0, 1)


@pytest.fixture
def task(small_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FlowTask:
    monkeypatch.setattr(flow, "BATCH", 2)
    monkeypatch.setattr(flow, "STEPS_APART", 1)
    return FlowTask(small_run.data, small_run.tokenizers, tmp_path / "flow.pt", "cpu", seed=0)


def test_training_goes_on_from_its_checkpoint(task: FlowTask) -> None:
    train_flow(ALONE, task, Pace(total=4))
    halfway = checkpoint.load(task.file)
    assert halfway["samples"] == 4
    train_flow(ALONE, task, Pace(total=8))
    finished = checkpoint.load(task.file)
    assert finished["samples"] == 8
    name = "transformer.proj_out.weight"
    assert not torch.equal(halfway["model"][name], finished["model"][name])
    assert torch.isfinite(finished["average"][name]).all()


def test_a_finished_training_changes_nothing(task: FlowTask) -> None:
    train_flow(ALONE, task, Pace(total=4))
    before = checkpoint.load(task.file)["average"]
    train_flow(ALONE, task, Pace(total=4))
    after = checkpoint.load(task.file)["average"]
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_no_time_left_still_leaves_a_checkpoint(task: FlowTask) -> None:
    train_flow(ALONE, task, Pace(total=1000, seconds=0))
    assert checkpoint.load(task.file)["samples"] == 0


def test_a_write_that_fails_leaves_the_old_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "state.pt"
    checkpoint.save({"step": 1}, file)

    def cut_short(state: object, target: object) -> None:
        target.write(b"half a checkpoint")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", cut_short)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save({"step": 2}, file)
    assert checkpoint.load(file) == {"step": 1}


def test_batches_repeat_for_the_same_seed_and_step(small_run: Run) -> None:
    first, second = (BatchSource(small_run.data, small_run.tokenizers, seed=3, rank=0).draw(7, 4) for _ in range(2))
    assert first.format == second.format
    assert torch.equal(first.latents, second.latents)
    assert torch.equal(first.t5_ids, second.t5_ids)
    other = BatchSource(small_run.data, small_run.tokenizers, seed=3, rank=1).draw(7, 4)
    assert other.format == first.format
    assert not torch.equal(first.latents, other.latents)


def test_muon_updates_have_singular_values_near_one() -> None:
    matrix = torch.randn(24, 40, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonalised(matrix))
    assert values.min() > 0.3
    assert values.max() < 1.4
