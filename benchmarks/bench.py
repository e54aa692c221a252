"""Runs the parts one after another and collects their rows; a part that fails says why in its own row."""

from __future__ import annotations

import importlib
import os
import platform
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from accel_ui.errors import UserError
from benchmarks.ground import Counts, Ground
from benchmarks.table import Row, markdown

PARTS = ("compile", "restart", "speed", "stall", "clients", "start", "tpu")
ASKED_FOR = ("presets",)  # too long for a whole run
PACKAGES = ("torch", "diffusers", "gradio", "torch_tpu")


def run(parts: Sequence[str] = (), counts: Counts | None = None) -> dict[str, Any]:
    """Measures `parts` (when empty, :data:`PARTS`).

    Returns:
        machine: what it ran on, in words; rows: the table as data; markdown: the table as text; seconds: of each part.

    Raises:
        UserError: naming the parts when there is none of that name.
    """
    unknown = [part for part in parts if part not in PARTS + ASKED_FOR]
    if unknown:
        raise UserError(f"There is no part {unknown[0]!r}: choose from {', '.join(PARTS + ASKED_FOR)}.")
    before, rows, took = machine(), [], {}
    with tempfile.TemporaryDirectory(prefix="accel-ui-bench-", ignore_cleanup_errors=True) as folder:
        ground = Ground(Path(folder), counts or Counts())
        for part in parts or PARTS:
            ground.say(part)
            started = time.perf_counter()
            rows += _rows(part, ground)
            took[part] = round(time.perf_counter() - started, 1)
    return {
        "machine": f"{before}; {sum(took.values()):.0f} s in all, load {os.getloadavg()[0]:.1f} at the end",
        "seconds": took,
        "rows": [row.data() for row in rows],
        "markdown": markdown(rows),
    }


def _rows(part: str, ground: Ground) -> list[Row]:
    rows: list[Row] = []
    try:
        for row in importlib.import_module(f"benchmarks.parts.{part}").measure(ground):
            rows.append(row)  # those before a failure stay
    except Exception as error:  # one part must not cost the others
        first_line = (str(error).strip().splitlines() or [""])[0]
        rows.append(Row(part, "failed", None, note=f"{type(error).__name__}: {first_line[:300]}"))
    return rows


def machine() -> str:
    """Processor, cores, memory, versions, and how busy it is."""
    import psutil

    packages = []
    for name in PACKAGES:
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return (
        f"{_processor()}, {os.cpu_count()} cores, {psutil.virtual_memory().total / 1e9:.0f} GB, {platform.system()}, "
        f"Python {platform.python_version()}, {', '.join(packages)}; load {os.getloadavg()[0]:.1f} at the start"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
