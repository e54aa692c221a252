"""The folders below ACCEL_UI_CACHE_DIR: bounded, and free of what killed compilers left."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from accel_ui.environment import ARTIFACTS

log = logging.getLogger(__name__)

DRAFTS = ".draft-*"
OLD_DRAFT = 86_400  # seconds; no compilation takes a day


def tidy(cache_dir: Path, most_bytes: float) -> None:
    """Deletes old drafts, then what was unused for longest until the rest fits into `most_bytes`.

    The unit is an entry of a cache: one artifact, or one file or folder of a compiler's own cache. All of them can
    be made again. Call it before anything is loaded.
    """
    for draft in cache_dir.glob(f"{ARTIFACTS}/{DRAFTS}"):
        if time.time() - _last_use(draft) > OLD_DRAFT:
            shutil.rmtree(draft, ignore_errors=True)
    entries = [(_last_use(path), _size(path), path) for path in _entries(cache_dir)]
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= most_bytes:
            return
        total -= size
        log.info("Deleting %s, unused for longest: the caches are larger than ACCEL_UI_MAX_CACHE_GB", path)
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _entries(cache_dir: Path) -> Iterator[Path]:
    for folder in cache_dir.iterdir():
        if folder.is_dir() and not folder.is_symlink():
            yield from (path for path in folder.iterdir() if not path.match(DRAFTS))


def _files(path: Path) -> Iterator[Path]:
    return (file for file in [path, *path.rglob("*")] if file.is_file() and not file.is_symlink())


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in _files(path))


def _last_use(path: Path) -> float:
    return max((file.stat().st_mtime for file in _files(path)), default=path.stat().st_mtime)
