"""Families of pipelines and the embedded model on the real torch_tpu: the CPU's pictures, two graphs a preset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import check, good, on_tpu

FAMILIES = ("klein", "sdxl", "sd3")
# Of 255, at the worst pixel, an outline: measured 44 after 4 steps; another seed's picture differs by 175.
BFLOAT16 = 64


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    # Four steps with guidance: the batch is doubled, and each timestep is a view into the same tensor.
    scenarios = [("family", model, "5", "4", "wide") for model in FAMILIES]
    return dict(zip(FAMILIES, on_tpu(tmp_path_factory.mktemp("families"), *scenarios), strict=True))


@pytest.mark.parametrize("model", FAMILIES)
def test_other_families(families: dict[str, dict], model: str) -> None:
    check(good(families[model]))


def test_embedded_model_after_a_warm_up_compiles_nothing(command, tmp_path: Path) -> None:
    made = command("warmup", "--preset", "draft", "--json")
    assert made.returncode == 0, made.stderr[-3000:]
    ledger = json.loads(made.stdout)["ledger"]
    assert [(row["target"], row["how"], row["graphs"]) for row in ledger] == [
        ("transformer", "compiled", 1),
        ("vae", "compiled", 1),
    ]
    result = good(on_tpu(tmp_path, ("one", "tiny", "compile", "bfloat16", "draft"))[0])
    # The square has the draft's shapes, so it found its graphs too.
    assert [(row["preset"], row["how"]) for row in result["ledger"]] == [
        (preset, "loaded") for preset in ("square", "draft") for _ in ("transformer", "vae")
    ]
    assert (result["first"]["graphs_compiled"], result["programs"]["compiled"]) == (0, 0)
    assert result["programs"]["loaded"] > 0
    assert result["distance"] <= BFLOAT16
    assert result["same"]

    report = result["report"]
    assert report["problem"] is None
    assert report["devices"]["tpu"]["available"]
    assert report["kept_programs"] >= result["programs"]["loaded"]
    assert len(report["kept_graphs"]) == 2
