"""The pictures of each browser on disk: they survive a reload, a closed tab and a restart of the server.

A browser is known by a random word that it keeps for itself; its pictures lie in a folder named by the hash of that
word, so neither the folder's name nor a picture tells it. Pictures made without a browser (API, commands) lie beside
these folders.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

MOST_PICTURES = 100  # of one browser
KEPT = 0.9  # of the bytes allowed stay when the oldest are deleted, so that it is not done at every picture
PREFIX = "browser-"
OURS = re.compile(r"\d{8}-\d{6}-.+-[0-9a-f]{12}\.png")  # as `pictures.save_picture` names them


class History:
    """The pictures below one folder.

    Args:
        folder: ACCEL_UI_OUTPUT_DIR.
        most_bytes: of all pictures together.
    """

    def __init__(self, folder: Path, most_bytes: float):
        self._folder, self._most_bytes = folder, most_bytes
        self._bytes: int | None = None  # of all pictures; None before they were counted

    def folder_of(self, owner: str | None) -> Path:
        """Where the pictures of `owner` go; the folder itself for nobody in particular."""
        if not owner:
            return self._folder
        return self._folder / (PREFIX + hashlib.sha256(owner.encode("utf-8", "replace")).hexdigest()[:24])

    def pictures(self, owner: str | None) -> list[Path]:
        """Those of `owner`, newest first; empty for nobody."""
        if not owner:
            return []
        found = [path for path in self.folder_of(owner).glob("*.png") if path.is_file()]
        return sorted(found, key=lambda path: path.name, reverse=True)

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

    def prune(self, owner: str | None, made: Sequence[Path]) -> None:
        """Deletes the oldest pictures beyond the limits, but never those just `made` for `owner`.

        (A clock that was set back makes them look older than they are.)
        """
        for path in [path for path in self.pictures(owner) if path not in made][max(0, MOST_PICTURES - len(made)) :]:
            path.unlink(missing_ok=True)
        if self._bytes is None:
            self._bytes = sum(size for _, size, _ in self._sizes())
        else:
            self._bytes += sum(path.stat().st_size for path in made if path.exists())
        if self._bytes <= self._most_bytes:
            return
        kept = 0
        for _, size, path in sorted(self._sizes(), key=lambda entry: (entry[2] in made, entry[0]), reverse=True):
            if path in made or kept + size <= KEPT * self._most_bytes:
                kept += size
            else:
                path.unlink(missing_ok=True)
        self._bytes = kept

    def _sizes(self) -> Iterator[tuple[float, int, Path]]:
        for path in self._folder.rglob("*.png"):
            try:
                stat = path.stat()
            except FileNotFoundError:
                continue
            if OURS.fullmatch(path.name):
                yield stat.st_mtime, stat.st_size, path
