"""What every test shares: a clean environment, set before torch is imported, and folders of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

for name in [name for name in os.environ if name.startswith("ACCEL_UI_")]:
    del os.environ[name]
os.environ.update(
    TORCH_DEVICE_BACKEND_AUTOLOAD="0",  # torch_tpu is installed for tests/tpu, which load it themselves
    USE_TORCH_XLA="0",
    TPU_SKIP_MDS_QUERY="1",
    OMP_WAIT_POLICY="PASSIVE",
    HF_HUB_OFFLINE="1",
    TOKENIZERS_PARALLELISM="false",
)
os.environ.pop("HF_TOKEN", None)

from accel_ui.manager import PipelineManager  # noqa: E402
from accel_ui.settings import Settings  # noqa: E402


def run_command(*arguments: str, env: dict[str, str] | None = None, check: bool = True) -> subprocess.CompletedProcess:
    """`python -m accel_ui ARGUMENTS` in a process of its own, from a folder without a .env file."""
    done = subprocess.run(
        [sys.executable, "-m", "accel_ui", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        cwd="/tmp",
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert not check or done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="session")
def warm_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with the artifacts of all presets of the embedded model, made by `warmup`; a minute or two."""
    cache = tmp_path_factory.mktemp("warm-cache")
    run_command("warmup", env={"ACCEL_UI_CACHE_DIR": str(cache), "ACCEL_UI_OUTPUT_DIR": str(cache / "out")})
    return cache


@pytest.fixture
def make_manager(tmp_path: Path) -> Iterator[Callable[..., PipelineManager]]:
    """Loaded managers with settings given by name; closed at the end."""
    managers = []

    def make(*, wait: bool = True, **settings) -> PipelineManager:
        defaults = {"cache_dir": tmp_path / "cache", "output_dir": tmp_path / "outputs", "warmup": "none", "device": "cpu"}
        manager = PipelineManager(Settings(**{**defaults, **settings}))
        managers.append(manager)
        manager.start()
        if wait:
            assert manager.wait_until_loaded(300)
        return manager

    yield make
    for manager in managers:
        manager.close()
