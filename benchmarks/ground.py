"""What the parts share: how often, in which folder, and the cache with the graphs of all presets."""

from __future__ import annotations

import functools
import itertools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import Child, environment


@dataclass(frozen=True)
class Counts:
    """How much is measured; the defaults fit into ten minutes on two cores."""

    requests: int = 200
    rounds: int = 5
    starts: int = 3
    clients: tuple[int, ...] = (1, 2, 4, 8, 16)
    pictures: int = 16  # of all clients together, three each at least
    presets: tuple[int, ...] = (1, 6, 24)
    compiled: tuple[str, ...] = ("square", "landscape", "portrait")


class Ground:
    """Made once for a run of the benchmarks.

    Args:
        folder: an empty one, for everything that is written.
    """

    def __init__(self, folder: Path, counts: Counts):
        self.folder, self.counts = folder, counts
        self._numbers = itertools.count()

    def fresh(self) -> Path:
        """A folder that nothing was written to."""
        folder = self.folder / str(next(self._numbers))
        folder.mkdir(parents=True)
        return folder

    @staticmethod
    def say(text: str) -> None:
        """Progress, for the person who waits."""
        print(text, file=sys.stderr, flush=True)

    @functools.cached_property
    def first_process(self) -> FirstProcess:
        """The process that made the graphs of all presets."""
        folder, first = self.fresh(), {}
        with Child("manager", folder, environment(folder, ACCEL_UI_COLD="compile")) as child:
            for preset in self.counts.compiled:
                self.say(f"  compiling {preset}")
                first[preset] = child.draw(preset, "a red house")["seconds"]
            ledger = child.draw(preset, "a red house")["ledger"]
        return FirstProcess(folder, ledger, first)

    @functools.cached_property
    def plain_script(self) -> tuple[Path, float]:
        """Folder of the Inductor cache that a first process of the compiled plain script left; seconds it took to draw."""
        folder = self.fresh()
        self.say("  compiling the plain script")
        with Child("bare-compiled", folder, environment(folder)) as child:
            return folder, child.draw("square", "a red house")["seconds"]

    def warm(self, **more: str) -> dict[str, str]:
        """The environment of a process that finds all graphs on disk."""
        return environment(self.first_process.folder, **more)


@dataclass(frozen=True)
class FirstProcess:
    """What making the graphs took.

    Attributes:
        folder: where its cache is.
        ledger: rows of the manager's ledger.
        first: seconds to the first picture of each preset, compilation included.
    """

    folder: Path
    ledger: list[dict[str, Any]]
    first: dict[str, float]
