"""Compiled graphs on disk, each in a folder of its own that can be copied to another machine of the same kind.

artifacts/transformer-128x128-3f2a9c01b7de/
    about.json   the key, the call it was made for, the checksum, seconds to compile
    graph.bin    what torch's AOT compilation saved
    inductor/    the machine code: graph.bin holds only its source, and compiling that again takes as long
                 as the first time (measured on the CPU: 20 s against 0.1 s)
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accel_ui.compilation.compiler import Compiler
from accel_ui.compilation.inputs import Description

FORMAT = 2  # raise it when the compiled functions or the description of a call change
ABOUT, GRAPH, MACHINE_CODE = "about.json", "graph.bin", "inductor"
INDUCTOR_VARIABLE = "TORCHINDUCTOR_CACHE_DIR"

Key = dict[str, Any]


class ArtifactError(RuntimeError):
    """There is no artifact to use; the message says why, in words for the ledger."""


class ArtifactMissing(ArtifactError):
    """Nothing is kept under this key."""


@dataclass(frozen=True)
class Artifact:
    """A graph read from disk.

    Attributes:
        call: takes the module first.
        inputs: description of the call it was made for.
        seconds: what compiling it took.
    """

    call: Callable
    inputs: Description
    seconds: float


@contextmanager
def _inductor_cache(folder: Path) -> Iterator[None]:
    """Inductor reads its cache folder from the environment each time."""
    before = os.environ.get(INDUCTOR_VARIABLE)
    os.environ[INDUCTOR_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[INDUCTOR_VARIABLE]
        else:
            os.environ[INDUCTOR_VARIABLE] = before


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class ArtifactStore:
    """The artifacts below one folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, name: str, key: Key) -> Path:
        """Folder of the artifact for `name` (target and size) under `key`."""
        text = json.dumps({"format": FORMAT, **key}, sort_keys=True, default=str)
        return self.folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def load(self, name: str, key: Key) -> Artifact:
        """Reads the artifact for `key`.

        Raises:
            ArtifactMissing: when there is none.
            ArtifactError: when it is damaged or foreign; a damaged one is removed.
        """
        path = self.path(name, key)
        if not path.is_dir():
            raise ArtifactMissing(self._why_missing(name, key))
        try:
            about = self._read(path)
            with _inductor_cache(path / MACHINE_CODE):
                call = Compiler.load(str(path / GRAPH))
        except Exception as error:
            if isinstance(error, PermissionError):
                raise ArtifactError(f"the kept graph is not used: {error}") from error
            shutil.rmtree(path, ignore_errors=True)
            first_line = (str(error).splitlines() or [type(error).__name__])[0]
            raise ArtifactError(f"the kept graph was damaged ({first_line[:200]})") from error
        with suppress(OSError):  # a read-only folder
            os.utime(path / ABOUT)  # its last use, for `cache.tidy`
        return Artifact(call, about["inputs"], about["seconds"])

    def _read(self, path: Path) -> dict:
        owner, mode = path.stat().st_uid, path.stat().st_mode
        if hasattr(os, "getuid") and (owner not in (os.getuid(), 0) or mode & 0o022):
            # A pickle runs code when it is read.
            raise PermissionError(f"{path.name} could have been written by another user")
        about = json.loads((path / ABOUT).read_text())
        if about["sha256"] != _digest(path / GRAPH):
            raise ValueError("its checksum differs")
        return about

    @contextmanager
    def making(self, name: str, key: Key) -> Iterator[Callable[[Callable, Description, float], None]]:
        """Compile inside; then call what it yields with the graph, the call's description and the seconds to keep it."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=self.folder))

        def keep(graph: Callable, inputs: Description, seconds: float) -> None:
            graph.save_compiled_function(str(draft / GRAPH))
            about = {"key": key, "inputs": inputs, "seconds": seconds, "sha256": _digest(draft / GRAPH)}
            (draft / ABOUT).write_text(json.dumps(about, indent=1, default=str))
            final = self.path(name, key)
            if not final.exists():  # another process may have been faster
                draft.rename(final)

        try:
            with _inductor_cache(draft / MACHINE_CODE):
                yield keep
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def discard(self, name: str, key: Key) -> None:
        """Removes an artifact that turned out not to work."""
        shutil.rmtree(self.path(name, key), ignore_errors=True)

    def _why_missing(self, name: str, key: Key) -> str:
        """Compares `key` with the newest artifact of the same name: what changed?"""
        others = sorted(self.folder.glob(f"{name}-{'[0-9a-f]' * 12}/{ABOUT}"), key=lambda p: p.stat().st_mtime)
        for path in reversed(others):
            try:
                kept = json.loads(path.read_text())["key"]
            except (ValueError, KeyError, OSError):
                continue
            now = json.loads(json.dumps(key, default=str))
            changed = [part for part in now if now[part] != kept.get(part)]
            if changed:
                return "the kept graph is for another " + " and ".join(
                    f"{part} ({_short(kept.get(part))}, now {_short(now[part])})" for part in changed
                )
        return "first use of these shapes here"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
