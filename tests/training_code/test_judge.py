"""The judge's training goes on from its checkpoint and stops when it is finished."""

from __future__ import annotations

from pathlib import Path

import pytest

from training import checkpoint, judge
from training.schedule import Pace


def test_judge_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "SCENES", 12)
    monkeypatch.setattr(judge, "HELD_BACK", 4)
    file = tmp_path / "judge.pt"
    judge.train_judge(file, Pace(total=8), "cpu", seed=0)
    assert checkpoint.load(file)["seen"] == 8
    judge.train_judge(file, Pace(total=16), "cpu", seed=0)
    state = checkpoint.load(file)
    assert state["seen"] == 16
    assert set(state["accuracy"]) == set(judge.FACTORS)
    assert judge.load_judge(file).training is False
