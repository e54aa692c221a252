"""What torchrun's variables mean, and that nothing happens without them."""

from __future__ import annotations

import sys

import pytest

from accel_ui.torchrun import Launch, launch


@pytest.mark.parametrize(
    ("variables", "expected", "parallel"),
    [
        ({}, Launch(0, 1, 0), False),
        ({"WORLD_SIZE": "8"}, Launch(0, 1, 0), False),
        ({"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}, Launch(0, 1, 0), False),
        ({"RANK": "9", "WORLD_SIZE": "16", "LOCAL_RANK": "1"}, Launch(9, 16, 1), True),
    ],
)
def test_place_among_the_processes(monkeypatch, variables, expected, parallel):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert launch() == expected
    assert launch().parallel == parallel


def test_one_process_imports_nothing_of_it(make_manager):
    manager = make_manager(mode="eager")
    assert manager.status()["phase"] == "ready"
    assert "graphs_by_rank" not in manager.status()
    assert not [name for name in sys.modules if name.startswith("accel_ui.distributed")]
