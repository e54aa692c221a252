"""Compiles cold presets without making anybody wait.

Where memory allows, a child process of low priority makes the artifacts, and the app loads them in a fraction
of a second. Elsewhere the accelerator's own thread does it when no request waits.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

log = logging.getLogger(__name__)

LOWEST_PRIORITY = 19


@dataclass
class BackgroundCompiler:
    """A queue of presets, compiled one after another.

    Attributes:
        may_spawn: whether a second copy of the pipeline fits into memory now.
        environment: the settings of this process, for the child.
        load: called with a preset whose artifacts are there.
        give_up: called with a preset and the reason when they could not be made.
        compile_here: compiles a preset in this process, when it is idle.
        limit: seconds a child may take; a compiler that hangs is ended.
    """

    may_spawn: Callable[[], bool]
    environment: dict[str, str]
    load: Callable[[str], None]
    give_up: Callable[[str, str], None]
    compile_here: Callable[[str], None]
    limit: float
    _wanted: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _current: tuple[str, float] | None = None
    _child: subprocess.Popen | None = None
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def request(self, preset: str) -> None:
        """Compiles `preset` soon. Asking again does nothing."""
        with self._lock:
            if preset in self._seen or self._closed:
                return
            self._seen.add(preset)
            self._wanted.append(preset)
            if self._current is None and len(self._wanted) == 1:
                threading.Thread(target=self._work, name="background-compiler", daemon=True).start()

    def elapsed(self, preset: str) -> float | None:
        """Seconds since the child began with `preset`; None when it does not work on it."""
        current = self._current
        return time.monotonic() - current[1] if current and current[0] == preset else None

    def waiting(self, preset: str) -> bool:
        """Whether `preset` will be compiled after others."""
        return preset in self._wanted

    @property
    def busy(self) -> bool:
        """Whether a preset is being compiled or waits for it."""
        return self._current is not None or bool(self._wanted)

    def close(self) -> None:
        """Ends the child."""
        with self._lock:
            self._closed = True
            self._wanted.clear()
            child = self._child
        if child and child.poll() is None:
            _end(child)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._wanted:
                    self._current = None
                    return
                preset = self._wanted.pop(0)
                self._current = (preset, time.monotonic())
            try:
                if self.may_spawn():
                    self._in_a_child(preset)
                else:
                    self.compile_here(preset)
            except Exception as error:
                log.exception("The background compilation of %s failed", preset)
                self.give_up(preset, str(error) or type(error).__name__)

    def _in_a_child(self, preset: str) -> None:
        import psutil

        command = [sys.executable, "-m", "accel_ui", "warmup", "--preset", preset, "--json"]
        log.info("Compiling %s in a background process", preset)
        with self._lock:
            if self._closed:
                return
            self._child = child = subprocess.Popen(
                command,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        if os.name == "posix":
            psutil.Process(child.pid).nice(LOWEST_PRIORITY)
        try:
            output, _ = child.communicate(timeout=self.limit)
        except subprocess.TimeoutExpired:
            _end(child)
            self.give_up(preset, f"its compilation took longer than ACCEL_UI_COMPILE_LIMIT ({self.limit:g} s)")
            return
        if self._closed:
            return
        if child.returncode == 0:
            self.load(preset)
        else:
            self.give_up(preset, _reason(output) or f"the background process ended with code {child.returncode}")


def _end(child: subprocess.Popen) -> None:
    """Ends a child and the compilers that it started."""
    import psutil

    with suppress(psutil.NoSuchProcess):
        family = psutil.Process(child.pid)
        for process in [*family.children(recursive=True), family]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    child.wait()


def _reason(output: str) -> str:
    """Why a `warmup --json` could not compile, from what it printed."""
    try:
        return str(json.loads(output)["problem"])
    except (ValueError, KeyError, TypeError):
        return ""
