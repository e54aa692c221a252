"""Runs scenarios and commands on the real torch_tpu package, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
# Set for tests that must not have the device.
NOT_HERE = ("TORCH_DEVICE_BACKEND_AUTOLOAD", "TPU_SKIP_MDS_QUERY", "TPU_LIBRARY_PATH", "XLA_FLAGS")
AT_START = dict(os.environ)  # tests of this process leave traces in os.environ, such as a cache folder
QUIET = {"TORCH_CPP_LOG_LEVEL": "ERROR"}  # the CPU plugin knows no memory statistics, and says so at each question


def environment(folder: Path, **more: str) -> dict[str, str]:
    """As a user's shell has it, with cache and pictures below `folder`."""
    kept = {name: value for name, value in AT_START.items() if name not in NOT_HERE}
    folders = {"ACCEL_UI_CACHE_DIR": str(folder / "cache"), "ACCEL_UI_OUTPUT_DIR": str(folder / "out")}
    return {**kept, **QUIET, **folders, **more}


def on_tpu(folder: Path, *scenarios: tuple[str, ...]) -> list[dict[str, Any]]:
    """Runs scenarios in one process and one folder, where a later one finds the cache of an earlier one."""
    command = [sys.executable, str(HERE / "scenarios.py"), str(folder), json.dumps(scenarios)]
    done = subprocess.run(command, env=environment(folder), cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def good(outcome: dict[str, Any]) -> dict[str, Any]:
    """What a scenario returned, which must not have failed."""
    assert "failed" not in outcome, outcome["failed"]
    return outcome


def check(result: dict[str, Any]) -> None:
    """What holds for a family of pipelines in float32."""
    assert {run["graphs_compiled"] for run in result["first"].values()} == {2}
    assert {run["mode"] for run in result["first"].values()} == {"compile"}
    assert max(result["distance"].values()) <= 1  # of 255: measured 0 to 1
    assert result["later_graphs"] == 0
    assert set(result["states"].values()) == {"ready"}
    assert [(row["how"], row["graphs"]) for row in result["ledger"]] == [("compiled", 1)] * len(result["ledger"])


@pytest.fixture(scope="session")
def warm_flux(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder with the graphs of the tiny FLUX pipeline, and what making them told."""
    folder = tmp_path_factory.mktemp("flux")
    return folder, good(on_tpu(folder, ("family", "flux"))[0])


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess]:
    """Runs `python -m accel_ui ARGUMENTS`, with the device unless `device` is false."""

    def run(*arguments: str, device: bool = True, **more: str) -> subprocess.CompletedProcess:
        device_script = [str(HERE / "tpu_on_cpu.py")] if device else []
        return subprocess.run(
            [sys.executable, *device_script, "-m", "accel_ui", *arguments],
            env=environment(tmp_path, **more),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=900,
        )

    return run
