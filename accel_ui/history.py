"""The pictures of each browser on disk: they survive a reload, a closed tab and a restart of the server.

A browser is known by a random word that it keeps for itself; its pictures lie in a folder named by the hash of that
word, so neither the folder's name nor a picture tells it. Pictures made without a browser (API, commands) lie beside
these folders and are never deleted here.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

MOST_PICTURES = 100  # of one browser
MOST_BYTES = 2 * 10**9  # of all browsers together
AFTER_PRUNING = 0.9  # of MOST_BYTES: looking at every file takes 0.1 s for 10,000 of them, too much for each picture
PREFIX = "browser-"


class History:
    """The pictures below one folder.

    Args:
        folder: ACCEL_UI_OUTPUT_DIR.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._bytes: int | None = None  # at most so many lie there; None before the first look

    def folder_of(self, owner: str | None) -> Path:
        """Where the pictures of `owner` go; the folder itself for nobody in particular."""
        if not owner:
            return self._folder
        return self._folder / (PREFIX + hashlib.sha256(owner.encode("utf-8", "replace")).hexdigest()[:24])

    def pictures(self, owner: str | None) -> list[Path]:
        """Those of `owner`, newest first; empty for nobody."""
        if not owner:
            return []
        return sorted(self.folder_of(owner).glob("*.png"), key=lambda path: path.name, reverse=True)

    def delete(self, owner: str | None, name: str) -> bool:
        """Deletes one picture of `owner`; False when it has none of that name."""
        found = [path for path in self.pictures(owner) if path.name == name]
        for path in found:
            path.unlink(missing_ok=True)
        return bool(found)

    def clear(self, owner: str | None) -> int:
        """Deletes all pictures of `owner`; returns how many."""
        pictures = self.pictures(owner)
        if pictures:
            shutil.rmtree(self.folder_of(owner), ignore_errors=True)
        return len(pictures)

    def prune(self, owner: str | None, new: Iterable[Path] = ()) -> None:
        """Deletes the oldest pictures beyond the limits. `new` are the ones of `owner` since the last call."""
        if not owner:
            return
        for path in self.pictures(owner)[MOST_PICTURES:]:
            path.unlink(missing_ok=True)
        if self._bytes is not None:
            self._bytes += sum(path.stat().st_size for path in new if path.exists())
            if self._bytes <= MOST_BYTES:
                return
        everything = sorted(self._sizes(), reverse=True)
        limit = MOST_BYTES if sum(size for _, size, _ in everything) <= MOST_BYTES else MOST_BYTES * AFTER_PRUNING
        self._bytes = 0
        for _, size, path in everything:
            if self._bytes + size > limit:
                path.unlink(missing_ok=True)
            else:
                self._bytes += size

    def _sizes(self) -> Iterator[tuple[float, int, Path]]:
        for path in self._folder.glob(f"{PREFIX}*/*.png"):
            try:
                stat = path.stat()
            except FileNotFoundError:
                continue
            yield stat.st_mtime, stat.st_size, path
