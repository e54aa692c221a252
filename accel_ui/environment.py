"""Variables that torch, its compilers and the tokenizers read when they are imported."""

from __future__ import annotations

import os
from pathlib import Path

from accel_ui.backends import BACKENDS
from accel_ui.errors import UserError

ARTIFACTS, INDUCTOR, TRITON = "artifacts", "inductor", "triton"


class FolderError(UserError):
    """A folder cannot be written."""


def prepare_environment(cache_dir: Path) -> None:
    """Points every cache into `cache_dir`, which survives a restart. Call it before torch is imported.

    Values that the user has set stay.
    """
    variables = {
        "TORCHINDUCTOR_CACHE_DIR": str(cache_dir / INDUCTOR),  # torch's default is the temp folder
        "TRITON_CACHE_DIR": str(cache_dir / TRITON),
        "TOKENIZERS_PARALLELISM": "false",  # its threads warn, and stop, after a fork
        "TRANSFORMERS_VERBOSITY": "error",  # warns about image processors that no text-to-image run uses
        "USE_TORCH_XLA": "0",  # diffusers would import torch_xla where libtpu is installed, and wait for a TPU
        "GRADIO_ANALYTICS_ENABLED": "False",
    }
    for backend in BACKENDS:
        variables.update(backend.environment(cache_dir))
    for name, value in variables.items():
        os.environ.setdefault(name, value)


def ensure_folder(path: Path, variable: str) -> Path:
    """Creates `path` (private to this user) and proves that it can be written.

    Raises:
        FolderError: naming `variable`.
    """
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = path / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise FolderError(
            f"{variable}={path} cannot be written ({error.strerror}): set {variable} to a folder that can."
        ) from None
    return path
