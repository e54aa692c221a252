"""How the app starts on machines that are taken, too small, or have another version of the package."""

from __future__ import annotations

import pytest

from accel_ui.backends.neuron import SMALLEST_CORE, NeuronBackend
from accel_ui.catalogue import FLUX2_KLEIN
from accel_ui.placement import plan
from accel_ui.weights import ComponentSize

from .api import DOCUMENTED
from .scenarios import start

# As TorchNeuron's start of the runtime raises it (source of April 2026).
HELD = "Failed to initialize Neuron Runtime: status code 1"
ROOM_FOR_THE_CORE = 1_800_000  # bytes: the tiny FLUX's denoiser and VAE with head-room need 1.6 MB, all of it 2.1 MB


def test_cores_held_by_another_process_are_a_sentence(in_process, tmp_path):
    found = in_process(start, folder=tmp_path, machine={"runtime_error": HELD})
    assert found["phase"] == "failed"
    for sentence in (found["problem"], found["reason"]):
        assert "ACCEL_UI_DEVICE=neuron" in sentence
        assert "another process holds them" in sentence
        assert "NEURON_RT_VISIBLE_CORES" in sentence
    assert not found["detection"]["available"]


def test_cores_held_and_auto_is_the_cpu_with_the_reason(in_process, tmp_path):
    found = in_process(start, folder=tmp_path, machine={"runtime_error": HELD}, device="auto", mode="eager")
    assert found["problem"] is None
    assert (found["phase"], found["device"], found["made"]) == ("ready", "cpu", True)
    assert "NEURON_RT_VISIBLE_CORES" in found["decisions"]["device"]["reason"]


def test_cores_found_held_when_the_weights_move_are_the_same_sentence(in_process, tmp_path):
    """Without device properties the runtime starts with the first tensor."""
    missing = ["get_device_properties"]
    found = in_process(start, folder=tmp_path, machine={"runtime_error": HELD}, missing=missing)
    assert found["detection"]["available"]
    assert "taken to have 24 GB each" in found["detection"]["reason"]
    assert found["phase"] == "failed"
    assert "another process holds them" in found["reason"]
    assert "NEURON_RT_VISIBLE_CORES" in found["reason"]


def test_machine_without_cores(in_process, tmp_path):
    found = in_process(start, folder=tmp_path, machine={"cores": 0})
    assert found["phase"] == "failed"
    assert "TorchNeuron finds no NeuronCore" in found["problem"]


@pytest.mark.parametrize(
    "missing", [*([name] for name in DOCUMENTED), list(DOCUMENTED)], ids=lambda names: "-".join(names)
)
def test_version_that_lacks_a_function_makes_pictures_all_the_same(in_process, tmp_path, missing):
    found = in_process(start, folder=tmp_path, machine={}, missing=missing, mode="eager")
    assert found["problem"] is None
    assert found["detection"]["available"]
    assert (found["phase"], found["device"], found["made"]) == ("ready", "neuron", True)
    assert found["memory_in_use"] == (None if "memory_allocated" in missing else 0)


def test_function_that_fails_is_a_reason_not_a_traceback(in_process, tmp_path):
    found = in_process(start, folder=tmp_path, machine={"runtime_error": "NRT_FAILURE: unknown\nat nrt.cc:12"})
    assert found["problem"].startswith(
        "ACCEL_UI_DEVICE=neuron, but the NeuronCores do not answer: NRT_FAILURE: unknown."
    )
    assert "nrt.cc" not in found["problem"]


def test_small_core_gets_denoiser_and_vae_alone(in_process, tmp_path):
    found = in_process(start, folder=tmp_path, machine={"memory": ROOM_FOR_THE_CORE}, mode="eager")
    assert found["made"]
    assert found["placement"] == {
        "transformer": "neuron:0",
        "vae": "neuron:0",
        "text_encoder": "cpu",
        "text_encoder_2": "cpu",
    }


def test_core_that_is_too_small_is_refused_before_anything_is_loaded(in_process, tmp_path):
    found = in_process(start, folder=tmp_path, machine={"memory": 10_000})
    assert found["phase"] == "failed"
    assert found["reason"] == found["problem"]
    assert "can be used on neuron:0: choose a smaller model, a device with at least 1.6 MB" in found["reason"]


def test_blocks_of_a_model_that_names_none_are_refused_in_words(in_process, tmp_path):
    found = in_process(start, folder=tmp_path, machine={}, pipeline="sd3", compile_blocks=True)
    assert found["reason"] == "ACCEL_UI_COMPILE_BLOCKS=1, but SD3Transformer2DModel names no repeated blocks: unset it."


def test_klein_fits_one_core_whole():
    """FLUX.2-klein-4B on the smallest core there is, as diffusers documents it."""
    sizes = [ComponentSize(name, {"BF16": count // 2}) for name, count in FLUX2_KLEIN.component_bytes.items()]
    placement = plan(sizes, device="neuron:0", memory=SMALLEST_CORE, dtype="bfloat16")
    assert placement.strategy == "whole"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("NRT EXECUTION FAILED: lazy::AllocBind: NRT_RESOURCE", "The NeuronCore is out of memory"),
        ("nrt_init failed: NRT_RESOURCE, requested 1 available 0", "another process holds them"),
        ("NRT:nrt_allocate_neuron_cores  NeuronCore(s) not available - Requested:1 Available:0", "another process"),
    ],
)
def test_errors_of_the_runtime_are_explained(error, words):
    backend = NeuronBackend()
    assert words in backend.explain(RuntimeError(error))
    wrapped = RuntimeError("the run failed")
    wrapped.__cause__ = RuntimeError(error)
    assert words in backend.explain(wrapped)
    assert backend.explain(ValueError("something else")) is None
