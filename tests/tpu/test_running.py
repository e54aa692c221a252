"""The tiny FLUX pipeline on the real torch_tpu: its graphs, and with them modes, placement, refusals, Stop, threads, a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import check, good, on_tpu

EAGER = {"eager": "DEFER_NEVER", "eager-fused": "DEFER_AND_FUSE", "eager-blocking": "DEFER_NEVER_AND_LAUNCH_BLOCKING"}


@pytest.fixture(scope="module")
def restarted(warm_flux: tuple[Path, dict]) -> dict[str, dict[str, Any]]:
    """Scenarios of a second process, by name."""
    names = ("one", "split", "refused_shape", "many_users")
    return dict(zip(names, on_tpu(warm_flux[0], *((name, "flux") for name in names)), strict=True))


@pytest.fixture(scope="module")
def eager(warm_flux: tuple[Path, dict]) -> dict[str, dict[str, Any]]:
    """The eager modes, and at last a device that cannot be had."""
    scenarios = [("one", "flux", mode) for mode in EAGER]
    return dict(zip((*EAGER, "held"), on_tpu(warm_flux[0], *scenarios, ("held", "flux")), strict=True))


def test_two_graphs_a_preset_and_none_in_forty_more_requests(warm_flux: tuple[Path, dict]) -> None:
    result = warm_flux[1]
    check(result)
    assert len(result["ledger"]) == 4  # transformer and VAE, square and wide
    assert all(row["programs"] >= 1 for row in result["ledger"])
    assert result["later_programs"] == 0


def test_a_second_process_traces_nothing_and_compiles_no_program(restarted: dict[str, dict]) -> None:
    result = good(restarted["one"])
    assert [row["how"] for row in result["ledger"]] == ["loaded"] * 4
    assert result["first"]["graphs_compiled"] == 0
    assert result["programs"]["compiled"] == 0
    assert result["programs"]["loaded"] > 0
    assert result["distance"] <= 1


@pytest.mark.parametrize("mode", EAGER)
def test_eager_modes(eager: dict[str, dict], mode: str) -> None:
    result = good(eager[mode])
    assert (result["mode"], result["eager_mode"], result["first"]["mode"]) == (mode, EAGER[mode], mode)
    assert result["decisions"]["mode"] == f"ACCEL_UI_MODE={mode}"
    assert result["programs"]["compiled"] + result["programs"]["loaded"] > 0
    assert (result["second"]["graphs_compiled"], result["second"]["programs_compiled"]) == (0, 0)
    assert result["distance"] <= 1
    assert result["same"]


def test_text_encoders_on_the_cpu_use_the_same_graphs(restarted: dict[str, dict]) -> None:
    result = good(restarted["split"])
    assert result["placement"] == {
        "text_encoder": "cpu",
        "text_encoder_2": "cpu",
        "transformer": "tpu:0",
        "vae": "tpu:0",
    }
    assert result["first"]["graphs_compiled"] == 0
    assert result["distance"] <= 1


def test_a_shape_outside_the_preset_is_refused_with_its_size(restarted: dict[str, dict]) -> None:
    result = good(restarted["refused_shape"])
    assert "transformer has its graph for preset 'square' and refuses a second one" in result["message"]
    assert "hidden_states is float32[1, 96, 16] on tpu" in result["message"]
    assert result["graphs"] == 0
    assert result["distance"] <= 1  # the preset still works


def test_stop_and_two_threads(restarted: dict[str, dict]) -> None:
    result = good(restarted["many_users"])
    assert result["steps"] == [1]
    assert result["after"]
    assert result["together"] == {"square": True, "wide": True}
    assert result["graphs"] == 0


def test_an_operation_that_cannot_be_compiled_leaves_its_component_eager(tmp_path: Path) -> None:
    result = good(on_tpu(tmp_path, ("refused_operation", "flux"))[0])
    assert (result["state"], result["mode"]) == ("eager", "eager")
    assert result["why"].startswith("transformer: it could not be compiled (")
    assert "data-dependent" in result["why"]
    assert result["ledger"] == {"transformer": "eager", "vae": "compiled"}
    assert result["distance"] <= 1
    assert result["again"]["graphs_compiled"] == 0


def test_a_tpu_held_by_another_process(eager: dict[str, dict]) -> None:
    assert good(eager["held"]) == {
        "phase": "failed",
        "reason": "The TPU is held by another process: `sudo lsof -w /dev/vfio/* /dev/accel*` shows which; "
        "end that program, or wait for it.",
    }
