"""Starts the contenders: children that obey orders, and servers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.child import MARK

ROOT = Path(__file__).parent.parent
PRESETS = Path(__file__).parent / "presets.toml"
OURS = ("ACCEL_UI_", "GRADIO_", "TORCHINDUCTOR_", "TRITON_", "TORCH_TPU_", "TORCH_NEURONX_")
PATIENCE = 300.0  # seconds for a server's port
ORDER_PATIENCE = 600.0  # seconds for a child's answer, which may have to compile


class ContenderEnded(RuntimeError):
    """A process ended before it answered; the message is the end of what it wrote."""


def environment(folder: Path, **more: str) -> dict[str, str]:
    """A shell's environment with every cache below `folder`; `more` wins. The same for all contenders."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
        "USE_TORCH_XLA": "0",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "HF_HUB_OFFLINE": "1",
        "GRADIO_ANALYTICS_ENABLED": "False",
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "ACCEL_UI_DEVICE": "cpu",
        "ACCEL_UI_PRESETS": str(PRESETS),
        "ACCEL_UI_WARMUP": "none",
        "ACCEL_UI_MAX_PER_CLIENT": "20",  # the clients of one machine count as one
        "ACCEL_UI_CACHE_DIR": str(folder / "cache"),
        "ACCEL_UI_OUTPUT_DIR": str(folder / "pictures"),
        **more,
    }


def _end_of(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no word"


class Process:
    """A process that is ended with the `with` block.

    Args:
        command: what follows the Python interpreter.
        folder: for its log; created.
    """

    def __init__(self, command: Sequence[str], folder: Path, env: dict[str, str], **pipes: Any):
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / f"{time.monotonic_ns()}.log"
        self.started = time.perf_counter()
        with self.log.open("w") as log:
            output = {"stdout": log, "stderr": log, **pipes}
            self.process = subprocess.Popen([sys.executable, *command], env=env, cwd=folder, text=True, **output)

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def ended(self) -> ContenderEnded:
        """The error to raise when it is gone."""
        return ContenderEnded(_end_of(self.log))


class Child(Process):
    """`benchmarks.child`; :meth:`draw` makes pictures.

    Args:
        kinds: its contenders, separated by spaces.
        before: what stands between the interpreter and `-m`.
    """

    def __init__(self, kinds: str, folder: Path, env: dict[str, str], before: Sequence[str] = ()):
        self._kinds = kinds.split()
        self._presets = Path(env["ACCEL_UI_PRESETS"])
        command = [*before, "-m", "benchmarks.child", *self._kinds]
        super().__init__(command, folder, env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._loaded = False

    def wait(self) -> None:
        """Until it is ready for orders. Several children may load at the same time."""
        if not self._loaded:
            self._answer()
            self._loaded = True

    def draw(self, preset: str, prompt: str, seed: int = 1, contender: str | None = None) -> dict[str, Any]:
        """One picture, of the first contender if none is named; `seconds` is what it took, the rest is the run's info."""
        self.wait()
        order = {"preset": preset, "prompt": prompt, "seed": seed, "numbers": numbers_of(preset, self._presets)}
        order["contender"] = contender or self._kinds[0]
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        started, end = time.perf_counter(), threading.Timer(ORDER_PATIENCE, self.process.kill)
        end.start()
        try:
            for line in self.process.stdout:
                if line.startswith(MARK):
                    return json.loads(line.removeprefix(MARK))
        finally:
            end.cancel()
        if time.perf_counter() - started >= ORDER_PATIENCE:
            raise TimeoutError(f"no answer in {ORDER_PATIENCE:.0f} s")
        raise self.ended()


class Server(Process):
    """`python COMMAND` that serves on a free port; ready when the port answers."""

    def __init__(self, command: Sequence[str], folder: Path, env: dict[str, str]):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        super().__init__(command, folder, {**env, "GRADIO_SERVER_PORT": str(self.port)})
        while not self._answers():
            if self.process.poll() is not None:
                raise self.ended()
            if time.perf_counter() - self.started > PATIENCE:
                self.__exit__()
                raise TimeoutError(f"no answer in {PATIENCE:.0f} s")
            time.sleep(0.02)
        #: seconds from the start of the process
        self.up = time.perf_counter() - self.started

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=10) as answer:
                return bool(answer.read(1))
        except (urllib.error.URLError, OSError):
            return False

    def memory(self) -> int:
        """Resident bytes now."""
        import psutil

        return psutil.Process(self.process.pid).memory_info().rss


def our_server(folder: Path, env: dict[str, str]) -> Server:
    """`python app.py`."""
    return Server([str(ROOT / "app.py")], folder, env)


def usual_server(folder: Path, env: dict[str, str]) -> Server:
    """The usual demo app, with its graphs counted."""
    return Server(["-m", "benchmarks.counted_space"], folder, env)


def numbers_of(preset: str, file: Path = PRESETS) -> dict[str, Any]:
    """The arguments a plain script gives the pipeline for the same picture as a preset of `file`."""
    from accel_ui.presets import read_presets

    chosen = next(one for one in read_presets(file) if one.id == preset)
    numbers = {
        "height": chosen.height,
        "width": chosen.width,
        "num_inference_steps": chosen.steps,
        "guidance_scale": chosen.guidance_scale,
        "max_sequence_length": chosen.max_sequence_length,
    }
    if chosen.true_cfg_scale > 1:
        numbers |= {"negative_prompt": "", "true_cfg_scale": chosen.true_cfg_scale}
    return numbers
