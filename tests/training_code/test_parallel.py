"""Two processes end up with the mean of their weights, and stop when the leader says so."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.nn.parameter import Parameter

from training.parallel import Team, run_team


def average_own_rank(team: Team, folder: Path) -> None:
    parameter = Parameter(torch.full((3,), float(team.rank)))
    team.average([parameter])
    stop = team.agree(team.leads)
    torch.save({"mean": parameter.detach(), "stop": stop}, folder / f"{team.rank}.pt")


def test_two_processes_average_and_agree(tmp_path: Path) -> None:
    run_team(average_own_rank, 2, tmp_path)
    for rank in range(2):
        result = torch.load(tmp_path / f"{rank}.pt")
        assert torch.equal(result["mean"], torch.full((3,), 0.5))
        assert result["stop"] is True


def test_one_process_runs_here(tmp_path: Path) -> None:
    run_team(average_own_rank, 1, tmp_path)
    assert torch.load(tmp_path / "0.pt")["mean"].sum() == 0
