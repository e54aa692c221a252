"""Which device family is chosen, and why: the real ones of this machine, and small made-up ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from accel_ui import backends
from accel_ui.backends import BACKENDS, Backend, Detection, DeviceNotFound, choose_backend, detect_all

ROOT = Path(__file__).parent.parent


class Family(Backend):
    """A made-up device family: no machine here has an accelerator."""

    def __init__(self, name: str, detection: Detection):
        self.name, self.detection = name, detection

    def detect(self) -> Detection:
        return self.detection

    def best_dtype(self) -> tuple[str, str]:
        return "bfloat16", "made up"

    def synchronize(self) -> None:
        pass


GONE = Detection(False, "no such card: the slot is empty")
THERE = Detection(True, "2 x H200, 130.0 of 139.0 GiB free", "cuda:0", "H200", 130 * 2**30)
CPU = Detection(True, "every machine has one; 2 cores", "cpu", "CPU", 8 * 2**30)


@pytest.fixture
def machine(monkeypatch):
    """Sets the families of this machine, in the order in which `auto` asks them."""

    def have(**detections: Detection) -> None:
        families = tuple(Family(name, detection) for name, detection in detections.items())
        monkeypatch.setattr(backends, "BACKENDS", families)

    return have


def test_this_machine_runs_on_the_cpu_and_says_why():
    backend, detection, decision = choose_backend("auto")
    assert (backend.name, detection.device, decision.value) == ("cpu", "cpu", "cpu")
    assert detection.memory > 2**28
    for family in ("cuda: ", "xpu: ", "mps: "):
        assert family in decision.reason
    assert backend.best_dtype()[0] == "float32"
    assert backend.compile_obstacle() is None
    assert backend.memory_in_use() > 2**20


def test_every_family_gives_a_reason_here():
    found = detect_all()
    assert list(found) == ["tpu", "neuron", "cuda", "xpu", "mps", "cpu"]
    assert all(detection.reason and not detection.reason.endswith(".") for detection in found.values())


@pytest.mark.parametrize("name", ["cuda", "xpu", "mps"])
def test_family_that_is_not_here_is_refused_with_its_reason(name):
    with pytest.raises(DeviceNotFound) as error:
        choose_backend(name)
    message = str(error.value)
    assert message.startswith(f"ACCEL_UI_DEVICE={name}, but ")
    assert detect_all()[name].reason in message
    assert "ACCEL_UI_DEVICE=auto" in message


def test_auto_takes_the_first_that_is_there(machine):
    machine(tpu=GONE, cuda=THERE, xpu=THERE, cpu=CPU)
    backend, detection, decision = choose_backend("auto")
    assert (backend.name, detection) == ("cuda", THERE)
    assert decision.reason == THERE.reason
    assert str(decision) == f"device: cuda ({THERE.reason})"


def test_cpu_for_want_of_an_accelerator_names_what_was_looked_for(machine):
    machine(tpu=GONE, cuda=GONE, cpu=CPU)
    reason = choose_backend("auto")[2].reason
    assert "no accelerator" in reason
    assert f"tpu: {GONE.reason}" in reason
    assert f"cuda: {GONE.reason}" in reason


def test_wish_is_obeyed_and_said(machine):
    machine(cuda=THERE, xpu=THERE, cpu=CPU)
    for name in ("xpu", "cpu"):
        backend, _, decision = choose_backend(name)
        assert backend.name == name
        assert "ACCEL_UI_DEVICE asks for it" in decision.reason
        assert "no accelerator" not in decision.reason


def test_refusal_gives_the_whole_reason(machine):
    machine(cuda=GONE, cpu=CPU)
    with pytest.raises(DeviceNotFound, match=r"but no such card: the slot is empty\. Set ACCEL_UI_DEVICE=auto"):
        choose_backend("cuda")


def test_nothing_at_all_is_a_refusal(machine):
    machine(cuda=GONE)
    with pytest.raises(DeviceNotFound, match="no such card"):
        choose_backend("auto")


@pytest.mark.parametrize(
    ("family", "words"), [("cuda", "nvidia-smi"), ("xpu", "Intel GPU is out of memory"), ("mps", "Apple GPU")]
)
def test_device_out_of_memory_is_explained(family, words):
    """torch's own errors, raised by hand: there is no device here to fill."""
    import torch

    error = RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)") if family == "mps" else None
    backend = next(backend for backend in BACKENDS if backend.name == family)
    assert words in backend.explain(error or torch.OutOfMemoryError("out of memory"))
    assert backend.explain(ValueError("something else")) is None


def test_environment_of_all_families_needs_no_torch(tmp_path):
    """It is set before torch is imported, or it is not read."""
    code = (
        "import sys; from pathlib import Path; from accel_ui.backends import BACKENDS\n"
        f"print([b.environment(Path({str(tmp_path)!r})) for b in BACKENDS])\n"
        "sys.exit('torch' in sys.modules or 'gradio' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "OMP_WAIT_POLICY" in done.stdout


def test_new_family_needs_no_more_than_its_three_methods():
    family = Family("new", THERE)
    assert family.modes == ("compile", "eager")
    assert family.compile_obstacle() is None
    assert family.explain(RuntimeError()) is None
    assert "machine" in family.fingerprint()
