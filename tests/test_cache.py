"""The caches stay within their bound: what was unused for longest goes first."""

from __future__ import annotations

import os
import time
from pathlib import Path

from accel_ui.cache import OLD_DRAFT, tidy


def entry(folder: Path, name: str, size: int, age: float) -> Path:
    """A folder with one file of `size` bytes, last used `age` seconds ago."""
    path = folder / name
    path.mkdir(parents=True)
    (path / "graph.bin").write_bytes(bytes(size))
    os.utime(path / "graph.bin", (time.time() - age,) * 2)
    return path


def test_oldest_entries_of_all_caches_go_until_the_rest_fits(tmp_path):
    old = entry(tmp_path / "artifacts", "transformer-square", 40, age=300)
    older = entry(tmp_path / "inductor", "ab", 40, age=400)
    new = entry(tmp_path / "artifacts", "vae-square", 40, age=10)
    (tmp_path / "lock").write_bytes(bytes(1000))  # no cache's entry
    tidy(tmp_path, most_bytes=120)
    assert old.exists()
    assert older.exists()
    tidy(tmp_path, most_bytes=90)
    assert (older.exists(), old.exists(), new.exists()) == (False, True, True)
    tidy(tmp_path, most_bytes=1)
    assert not old.exists()
    assert not new.exists()
    assert (tmp_path / "lock").exists()


def test_drafts_of_killed_compilers_go_and_those_of_living_ones_stay(tmp_path):
    dead = entry(tmp_path / "artifacts", ".draft-dead", 10, age=2 * OLD_DRAFT)
    alive = entry(tmp_path / "artifacts", ".draft-alive", 10, age=60)
    tidy(tmp_path, most_bytes=1)
    assert not dead.exists()
    assert alive.exists()


def test_links_are_not_followed(tmp_path):
    outside = entry(tmp_path, "outside", 500, age=999)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "elsewhere").symlink_to(outside.parent)
    tidy(tmp_path / "cache", most_bytes=1)
    assert (outside / "graph.bin").exists()
