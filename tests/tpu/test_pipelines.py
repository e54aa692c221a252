"""Four families of pipelines and the embedded model on the real torch_tpu: the CPU's pictures, two graphs a preset."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FLOAT32, BFLOAT16 = 1, 10  # of 255: measured 0 to 1, and 7 after 4 steps in bfloat16


def check(result: dict[str, Any]) -> None:
    """What holds for every pipeline."""
    assert {run["graphs_compiled"] for run in result["first"].values()} == {2}
    assert {run["mode"] for run in result["first"].values()} == {"compile"}
    assert max(result["distance"].values()) <= FLOAT32
    assert result["later_graphs"] == 0
    assert set(result["states"].values()) == {"ready"}
    assert [(row["how"], row["graphs"]) for row in result["ledger"]] == [("compiled", 1)] * len(result["ledger"])
    assert all(row["programs"] >= 1 for row in result["ledger"])


def test_flux_makes_two_graphs_a_preset_and_none_in_forty_more_requests(warm_flux: tuple[Path, dict]) -> None:
    result = warm_flux[1]
    check(result)
    assert len(result["ledger"]) == 4  # transformer and VAE, square and wide
    assert result["later_programs"] == 0


@pytest.mark.parametrize("model", ["klein", "sdxl", "sd3"])
def test_other_families(on_tpu: Callable[..., dict], tmp_path: Path, model: str) -> None:
    # Four steps with guidance: the batch is doubled, and each timestep is a view into the same tensor.
    check(on_tpu(tmp_path, "family", model, "5", "4", "wide"))


def test_embedded_model_after_a_warm_up_compiles_nothing(on_tpu, command, tmp_path: Path) -> None:
    made = command("warmup", "--preset", "draft", "--json")
    assert made.returncode == 0, made.stderr[-3000:]
    ledger = json.loads(made.stdout)["ledger"]
    assert [(row["target"], row["how"], row["graphs"]) for row in ledger] == [
        ("transformer", "compiled", 1),
        ("vae", "compiled", 1),
    ]
    result = on_tpu(tmp_path, "one", "tiny", "compile", "bfloat16", "draft")
    assert [row["how"] for row in result["ledger"]] == ["loaded", "loaded"]
    assert (result["first"]["graphs_compiled"], result["programs"]["compiled"]) == (0, 0)
    assert result["programs"]["loaded"] > 0
    assert result["distance"] <= BFLOAT16
    assert result["same"]

    report = json.loads(command("doctor", "--json").stdout)
    assert report["problem"] is None
    assert report["devices"]["tpu"]["available"]
    assert report["kept_programs"] >= result["programs"]["loaded"]
    assert len(report["kept_graphs"]) == 2
