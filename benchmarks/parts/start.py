"""From the start of the process to an answering port and to the first picture."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.figures import median, ratios
from benchmarks.ground import Ground
from benchmarks.processes import ROOT, environment, our_server
from benchmarks.table import Row, ratio, seconds
from benchmarks.visitor import Visitor

PART = "start"
PORT_TO_IMPORT, PICTURE_TO_BARE = 1.5, 1.2
HEAVY = ("torch", "diffusers", "transformers")
OWN_IMPORTS = (
    "import time, gradio, sys; started = time.perf_counter(); import accel_ui.manager, accel_ui.ui.launch, accel_ui.ui.page;"
    f"print(time.perf_counter() - started, *[name for name in {HEAVY} if name in sys.modules])"
)


def measure(ground: Ground) -> Iterator[Row]:
    """In turn: `import gradio`, the plain script, the app as it starts with its graphs on disk."""
    imported, bare, port, picture = [], [], [], []
    warm = ground.warm()  # before the first start: making the graphs takes minutes
    for number in range(ground.counts.starts):
        ground.say(f"  start {number + 1} of {ground.counts.starts}")
        folder = ground.fresh()
        env = environment(folder)
        imported.append(_seconds(["-c", "import gradio"], env)[0])
        bare.append(_seconds([str(ROOT / "benchmarks" / "bare.py"), str(folder / "picture.png")], env)[0])
        with our_server(folder, warm) as server:
            port.append(server.up)
            Visitor(server.port).draw("a red house", "square", 1, "")
            picture.append(time.perf_counter() - server.started)
    yield seconds(PART, "import gradio", imported)
    yield ratio(PART, "answering port over import gradio", ratios(port, imported), PORT_TO_IMPORT)
    yield seconds(PART, "first picture of the plain script, eager", bare)
    note = f"import gradio and the plain script one after the other: {_together(imported, bare):.2f} x"
    yield ratio(PART, "first picture over the plain script", ratios(picture, bare), PICTURE_TO_BARE, note)
    own, words = _seconds(["-c", OWN_IMPORTS], environment(ground.fresh()))
    took, *heavy = words.split()
    note = f"of {own:.1f} s in all; " + (
        f"{', '.join(heavy)} come with them" if heavy else "none of " + ", ".join(HEAVY)
    )
    yield Row(PART, "imports before the port, beside gradio", float(took), "s", note=note)


def _together(imported: list[float], bare: list[float]) -> float:
    return median([(one + other) / other for one, other in zip(imported, bare, strict=True)])


def _seconds(command: list[str], env: dict[str, str]) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run([sys.executable, *command], env=env, check=True, capture_output=True, text=True)
    return time.perf_counter() - started, done.stdout
