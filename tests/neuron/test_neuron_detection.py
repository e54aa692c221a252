"""Three packages have the name torch_neuronx, and one is the right one: each is recognised and named."""

from __future__ import annotations

import pytest

from .scenarios import detect_package

NATIVE = "import torch\nfrom neuron import device\ndevice.install()\n"
CASES = {
    "placeholder on PyPI": ("1.0", [], "", "torch_neuronx 1.0 is the placeholder on PyPI"),
    "older package": ("2.9.0.2.13", ["torch-xla==2.9.0"], "raise SystemExit", "is the older package for torch_xla"),
    "older package, spelt otherwise": ("2.8.0.2.10", ["torch_xla (>=2.8)"], "", "is the older package for torch_xla"),
    "damaged": (
        "2.13.3.0",
        [],
        "raise OSError('libnrt.so.1: no such file')",
        "cannot be imported (libnrt.so.1: no such",
    ),
    "adds no device": ("2.13.3.0", [], "", "torch_neuronx adds no torch.neuron"),
}


@pytest.mark.parametrize(("version", "requires", "code", "words"), CASES.values(), ids=CASES)
def test_wrong_package_is_named_with_what_to_install(in_process, tmp_path, version, requires, code, words):
    found = in_process(detect_package, folder=tmp_path, version=version, requires=requires, code=code)
    assert not found["available"]
    assert words in found["reason"]
    assert found["reason"].endswith(
        "install TorchNeuron from AWS's own package index (https://awsdocs-neuron.readthedocs-hosted.com)"
    )


def test_native_package_that_torch_did_not_load_is_imported(in_process, tmp_path):
    """With TORCH_DEVICE_BACKEND_AUTOLOAD=0, torch leaves it alone."""
    found = in_process(detect_package, folder=tmp_path, version="2.13.3.0.1", requires=["neuronx-cc==2.*"], code=NATIVE)
    assert found["available"], found["reason"]
    assert found["device"] == "neuron:0"


def test_no_package_at_all(in_process, tmp_path):
    found = in_process(detect_package, folder=tmp_path, version=None, requires=[], code="")
    assert found["reason"] == "torch_neuronx is not installed"
    assert found["environment"] == {}


def test_cores_hidden_by_an_empty_variable(in_process, tmp_path):
    found = in_process(
        detect_package,
        folder=tmp_path,
        version="2.13.3.0",
        requires=[],
        code=NATIVE.replace("install()", "install(device.Machine(cores=0))"),
        variables={"NEURON_RT_VISIBLE_CORES": ""},
    )
    assert found["reason"] == "NEURON_RT_VISIBLE_CORES is empty, so that no NeuronCore can be seen"


def test_package_without_a_compiler_runs_eagerly_with_the_reason(in_process, tmp_path):
    found = in_process(detect_package, folder=tmp_path, version="2.13.3.0", requires=[], code=NATIVE)
    assert found["compile_obstacle"] == "this version of TorchNeuron brings no compiler for torch.compile"


def test_environment_keeps_the_cache_and_makes_failures_visible(in_process, tmp_path):
    found = in_process(detect_package, folder=tmp_path, version="2.13.3.0", requires=[], code=NATIVE)
    assert found["environment"] == {
        "TORCH_NEURONX_NEFF_CACHE_DIR": str(tmp_path / "cache" / "neff"),
        "TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION": "1",
        "TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS": "1",
        "HF_DEACTIVATE_ASYNC_LOAD": "1",
    }
