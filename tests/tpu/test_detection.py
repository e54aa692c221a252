"""Machines without a TPU, or with a torch that does not fit, and what is known without a device."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest

from accel_ui.backends import tpu
from accel_ui.catalogue import CATALOGUE
from accel_ui.placement import DoesNotFit, plan
from accel_ui.weights import ComponentSize

backend = tpu.TpuBackend()
SCHNELL = [
    ComponentSize(name, {"BF16": size // 2})
    for name, size in CATALOGUE["black-forest-labs/FLUX.1-schnell"].component_bytes.items()
]


def test_torch_tpu_without_a_tpu_is_passed_over_with_its_reason(command) -> None:
    report = json.loads(command("doctor", "--json", device=False).stdout)
    assert report["devices"]["tpu"]["available"] is False
    assert report["devices"]["tpu"]["reason"] == "torch_tpu 0.2.0 found no TPU on the PCI bus"
    device = report["decisions"][0]
    assert device["value"] == "cpu"
    assert "tpu: torch_tpu 0.2.0 found no TPU" in device["reason"]
    assert report["kept_programs"] is None


def test_asking_for_a_tpu_that_is_not_there(command) -> None:
    done = command("generate", "a house", device=False, ACCEL_UI_DEVICE="tpu")
    assert done.returncode == 1
    assert (
        "ACCEL_UI_DEVICE=tpu, but torch_tpu 0.2.0 found no TPU on the PCI bus. Set ACCEL_UI_DEVICE=auto" in done.stderr
    )
    assert "Traceback" not in done.stderr


@pytest.fixture
def old_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch 2.10, which torch_tpu 0.2.0 does not support."""
    version = metadata.version
    monkeypatch.setattr(tpu.metadata, "version", lambda name: "2.10.1+cpu" if name == "torch" else version(name))


@pytest.mark.usefixtures("old_torch")
def test_a_torch_outside_the_range_is_named_and_does_not_end_the_import(tmp_path: Path) -> None:
    detection = backend.detect()
    assert not detection.available
    assert detection.reason == "torch_tpu 0.2.0 needs torch <=2.15.0,>=2.11.0, and torch 2.10.1+cpu is installed"
    assert backend.environment(tmp_path)["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"


def test_environment(tmp_path: Path) -> None:
    variables = backend.environment(tmp_path)
    assert variables["TORCH_TPU_TIER3_COMPILATION_CACHE_ROOT"] == str(tmp_path / "xla")
    assert variables["TPU_SKIP_MDS_QUERY"] == "1"  # this machine has no TPU
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD" not in variables
    # The cache in memory has one name for the life of the folder, and another for another folder.
    name = variables["TORCH_TPU_TIER2_COMPILATION_CACHE"]
    assert name.startswith("accel-ui-")
    assert backend.environment(tmp_path)["TORCH_TPU_TIER2_COMPILATION_CACHE"] == name
    assert backend.environment(tmp_path / "other")["TORCH_TPU_TIER2_COMPILATION_CACHE"] != name


def test_a_machine_without_torch_tpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tpu, "find_spec", lambda name: None)
    assert backend.environment(tmp_path) == {}
    assert backend.detect().reason == "torch_tpu is not installed"


def bus(folder: Path, **devices: tuple[str, str]) -> Path:
    """A PCI bus: vendor and class of each device."""
    for name, (vendor, kind) in devices.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "vendor").write_text(f"{vendor}\n")
        (folder / name / "class").write_text(f"{kind}\n")
    return folder


def test_a_tpu_on_the_bus_may_ask_the_metadata_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    network, disk, chip = ("0x1ae0", "0x020000"), ("0x1ae0", "0x010802"), ("0x1ae0", "0x120000")
    monkeypatch.setattr(tpu, "PCI_DEVICES", bus(tmp_path / "cloud", a=network, b=disk))
    assert "TPU_SKIP_MDS_QUERY" in backend.environment(tmp_path)
    monkeypatch.setattr(tpu, "PCI_DEVICES", bus(tmp_path / "tpu", a=network, b=chip))
    assert "TPU_SKIP_MDS_QUERY" not in backend.environment(tmp_path)
    monkeypatch.setattr(tpu, "find_spec", lambda name: None)
    assert backend.detect().reason == "a TPU is here, but torch_tpu is not installed: pip install torch_tpu"


@pytest.mark.parametrize(
    "words", ["The TPU is already in use by process with pid 7.", "open(/dev/vfio/0): Device or resource busy"]
)
def test_held_by_another_process(words: str) -> None:
    message = backend.explain(RuntimeError(words))
    assert message.startswith("The TPU is held by another process: `sudo lsof")
    assert "rm" not in message.split()


def test_out_of_memory_and_other_errors() -> None:
    assert "out of memory" in backend.explain(RuntimeError("RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm"))
    assert backend.explain(RuntimeError("a view cannot be created")) is None


def test_memory_decides_where_flux_goes() -> None:
    def place(name: str):
        return plan(SCHNELL, device="tpu:0", memory=tpu.HBM[name], dtype="bfloat16")

    split = place("TPU v6e")
    assert split.strategy == "split"
    assert {a.component: a.device for a in split.assignments} == {
        "transformer": "tpu:0",
        "vae": "tpu:0",
        "text_encoder": "cpu",
        "text_encoder_2": "cpu",
    }
    assert place("TPU v5p").strategy == place("TPU v7").strategy == "whole"
    with pytest.raises(DoesNotFit, match="a device with at least 26"):
        place("TPU v5e")
