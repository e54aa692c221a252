"""What users may rely on: no graph after the warm-up, refusals and failures in words, reads that do not grow."""

from __future__ import annotations

import pytest

from .scenarios import another_size, cold_preset, mixed_requests, reads, vae_does_not_compile


@pytest.mark.parametrize(
    ("blocks", "graphs", "presets", "count"),
    [(False, 2, ["square", "wide", "guided"], 24), (True, 3, ["square", "guided"], 8)],
)
def test_mixed_requests_from_four_threads_add_no_graph(in_process, tmp_path, blocks, graphs, presets, count):
    found = in_process(mixed_requests, folder=tmp_path, presets=presets, count=count, compile_blocks=blocks)
    assert found["failures"] == []
    assert found["pictures"] == count
    assert found["warm"] == len(presets) * graphs
    assert found["afterwards"] == 0
    assert found["runs_since_last_graph"] >= count
    assert all(found["same_alone"])


@pytest.mark.parametrize("blocks", [False, True])
def test_another_size_is_refused_and_the_warm_one_goes_on(in_process, tmp_path, blocks):
    found = in_process(another_size, folder=tmp_path, blocks=blocks)
    assert "has its graph for preset 'square' and refuses a second one" in found["reason"]
    assert "hidden_states is bfloat16[1, " in found["reason"]
    assert found["more_graphs"] == 0
    assert found["warm_shape_works"]


def test_cold_preset_compiles_first_and_says_so(in_process, tmp_path):
    found = in_process(cold_preset, folder=tmp_path)
    assert found["state"][0] == "cold"
    assert not found["child"]  # the cores belong to one process
    assert found["compiling"] == ["transformer", "vae"]
    assert found["compiling_again"] == 0
    assert (found["first"]["graphs_compiled"], found["second"]["graphs_compiled"]) == (2, 0)
    assert (found["first"]["mode"], found["first"]["device"], found["first"]["dtype"]) == (
        "compile",
        "neuron",
        "bfloat16",
    )
    assert found["cold"]["value"] == "compile"
    assert "eager mode itself compiles" in found["cold"]["reason"]
    assert found["device"]["value"] == "neuron"
    assert "1 logical NeuronCore of trn2.3xlarge, 24.0 GB each" in found["device"]["reason"]
    assert found["dtype"]["value"] == "bfloat16"


def test_vae_that_does_not_compile_runs_eagerly_and_is_named(in_process, tmp_path):
    found = in_process(vae_does_not_compile, folder=tmp_path)
    assert found["difference"] == 0.0
    state, why = found["state"]
    assert state == "eager"
    assert why.startswith("vae: it could not be compiled")
    assert "neuronx-cc failed with error code 70" in why
    assert [row[:2] for row in found["ledger"]] == [("transformer", "compiled"), ("vae", "eager")]
    assert found["tried_again"] == 0
    assert found["graphs"] == 1
    assert found["mode"] == "eager"


@pytest.mark.parametrize(("model", "mode"), [("flux", "compile"), ("klein", "eager"), ("sdxl", "eager")])
def test_reads_from_the_device_do_not_grow_with_the_steps(in_process, tmp_path, model, mode):
    """`square` has two steps and `long` seven, at the same size; previews, which read, are off."""
    found = in_process(reads, folder=tmp_path, model=model, mode=mode)
    assert found["reads"]["long"] == found["reads"]["square"]
    assert found["reads"]["square"]["copy to the host"] >= 1  # the picture itself
    assert "torch.float64" not in found["dtypes"]
