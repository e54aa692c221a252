"""Modes, placement, refusals, Stop, threads and a restart, with the graphs that `warm_flux` has made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


def test_a_second_process_traces_nothing_and_compiles_no_program(on_tpu: Callable[..., dict], warm_flux) -> None:
    result = on_tpu(warm_flux[0], "one", "flux")
    assert [row["how"] for row in result["ledger"]] == ["loaded"] * 4
    assert result["first"]["graphs_compiled"] == 0
    assert result["programs"]["compiled"] == 0
    assert result["programs"]["loaded"] > 0
    assert result["distance"] <= 1


@pytest.mark.parametrize(
    ("mode", "torch_name"),
    [
        ("eager", "DEFER_NEVER"),
        ("eager-fused", "DEFER_AND_FUSE"),
        ("eager-blocking", "DEFER_NEVER_AND_LAUNCH_BLOCKING"),
    ],
)
def test_eager_modes(on_tpu: Callable[..., dict], warm_flux, mode: str, torch_name: str) -> None:
    result = on_tpu(warm_flux[0], "one", "flux", mode)
    assert (result["mode"], result["eager_mode"], result["first"]["mode"]) == (mode, torch_name, mode)
    assert result["decisions"]["mode"] == f"ACCEL_UI_MODE={mode}"
    assert result["programs"]["compiled"] + result["programs"]["loaded"] > 0
    assert (result["second"]["graphs_compiled"], result["second"]["programs_compiled"]) == (0, 0)
    assert result["distance"] <= 1
    assert result["same"]


def test_text_encoders_on_the_cpu_use_the_same_graphs(on_tpu: Callable[..., dict], warm_flux) -> None:
    result = on_tpu(warm_flux[0], "split", "flux")
    assert result["placement"] == {
        "text_encoder": "cpu",
        "text_encoder_2": "cpu",
        "transformer": "tpu:0",
        "vae": "tpu:0",
    }
    assert result["first"]["graphs_compiled"] == 0
    assert result["distance"] <= 1


def test_a_shape_outside_the_preset_is_refused_with_its_size(on_tpu: Callable[..., dict], warm_flux) -> None:
    result = on_tpu(warm_flux[0], "refused_shape", "flux")
    assert "transformer has its graph for preset 'square' and refuses a second one" in result["message"]
    assert "hidden_states is float32[1, 96, 16] on tpu" in result["message"]
    assert result["graphs"] == 0
    assert result["distance"] <= 1  # the preset still works


def test_stop_and_two_threads(on_tpu: Callable[..., dict], warm_flux) -> None:
    result = on_tpu(warm_flux[0], "many_users", "flux")
    assert result["steps"] == [1]
    assert result["after"]
    assert result["together"] == {"square": True, "wide": True}
    assert result["graphs"] == 0


def test_an_operation_that_cannot_be_compiled_leaves_its_component_eager(
    on_tpu: Callable[..., dict], tmp_path: Path
) -> None:
    result = on_tpu(tmp_path, "refused_operation", "flux")
    assert (result["state"], result["mode"]) == ("eager", "eager")
    assert result["why"].startswith("transformer: it could not be compiled (")
    assert "data-dependent" in result["why"]
    assert result["ledger"] == {"transformer": "eager", "vae": "compiled"}
    assert result["distance"] <= 1
    assert result["again"]["graphs_compiled"] == 0


def test_a_tpu_held_by_another_process(on_tpu: Callable[..., dict], tmp_path: Path) -> None:
    assert on_tpu(tmp_path, "held", "flux") == {
        "phase": "failed",
        "reason": "The TPU is held by another process: `sudo lsof -w /dev/vfio/* /dev/accel*` shows which; "
        "end that program, or wait for it.",
    }
