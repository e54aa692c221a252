"""What torchrun's variables mean, and that nothing happens without them."""

from __future__ import annotations

import pytest

from accel_ui.torchrun import Launch, launch
from conftest import run_command


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


def test_one_process_imports_nothing_of_it(tmp_path):
    folders = {"ACCEL_UI_CACHE_DIR": str(tmp_path / "cache"), "ACCEL_UI_OUTPUT_DIR": str(tmp_path / "outputs")}
    settings = {"ACCEL_UI_DEVICE": "cpu", "ACCEL_UI_MODE": "eager", **folders}
    imports = run_command("generate", "a red house", env={"PYTHONPROFILEIMPORTTIME": "1", **settings}).stderr
    assert "accel_ui.engine" in imports
    assert "accel_ui.distributed" not in imports
