"""The benchmarks: figures, table, contenders that draw the same picture, and a command that survives a failing part."""

from __future__ import annotations

import json
import re
import sys
import types

import numpy as np
import pytest
import torch
from PIL import Image

import accel_ui.__main__ as commands
from accel_ui.catalogue import CATALOGUE
from benchmarks import bare, bench, figures, processes, real_models
from benchmarks.ground import Counts, Ground
from benchmarks.parts import clients
from benchmarks.processes import PRESETS, Child, ContenderEnded, environment, numbers_of
from benchmarks.table import Row, markdown, ratio


def test_figures():
    values = [float(number) for number in range(1, 101)]
    assert [figures.percentile(values, share) for share in (0.01, 0.5, 0.99, 1.0)] == [1, 50, 99, 100]
    assert figures.percentile([7.0], 0.99) == 7
    assert figures.ratios([2.0, 9.0], [1.0, 3.0]) == [2, 3]
    assert figures.in_words([1.0, 2.0, 3.0, 4.0]) == "1.00 to 3.00, 4 runs"
    with pytest.raises(ValueError, match="zip"):
        figures.ratios([1.0], [1.0, 2.0])


def test_table_says_what_was_met_and_what_was_missed():
    rows = [
        ratio("speed", "manager over bare", [1.01, 1.02, 1.09], target=1.03),
        Row("stall", "graphs | compiled", 3, "", target=0),
        Row("tpu", "torch_tpu is not installed", None, target=1.0),
    ]
    lines = markdown(rows).splitlines()
    assert lines[2] == "| speed | manager over bare | 1.02 x | at most 1.03 | yes | 1.01 to 1.09, 3 runs |"
    assert lines[3] == "| stall | graphs / compiled | 3 | at most 0 | **no** |  |"
    assert lines[4] == "| tpu | torch_tpu is not installed | - | at most 1 |  |  |"
    assert [row.data()["met"] for row in rows] == [True, False, None]


@pytest.fixture
def parts(monkeypatch):
    """Two parts in place of the real ones; the first one fails after its first row."""

    def failing(ground):
        yield Row("start", "kept", 1.0)
        raise ContenderEnded("the server said no\nand more")

    fakes = {"start": failing, "stall": lambda ground: [Row("stall", "also", 2.0)]}
    for name, measure in fakes.items():
        monkeypatch.setitem(sys.modules, f"benchmarks.parts.{name}", types.SimpleNamespace(measure=measure))


@pytest.mark.usefixtures("parts", "environment_put_back")
def test_part_that_fails_says_why_and_the_others_go_on(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert commands.main(["bench", "--only", "start", "--only", "stall", "--json"]) == 1
    out, progress = capsys.readouterr()
    report = json.loads(out)
    assert [(row["part"], row["what"]) for row in report["rows"]] == [
        ("start", "kept"),
        ("start", "failed"),
        ("stall", "also"),
    ]
    assert report["rows"][1]["note"] == "ContenderEnded: the server said no"
    assert progress.split() == ["start", "stall"]
    assert commands.main(["bench", "--only", "stall"]) == 0
    out, _ = capsys.readouterr()
    assert "cores" in out.splitlines()[0]
    assert "| stall | also | 2.00 x |" in out


@pytest.mark.usefixtures("environment_put_back")
def test_command_refuses_with_a_sentence(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert commands.main(["bench", "--only", "nope"]) == 1
    assert "no part 'nope'" in capsys.readouterr().err
    monkeypatch.setattr(commands, "__file__", str(tmp_path / "accel_ui" / "__main__.py"))
    assert commands.main(["bench"]) == 1
    assert "run bench in a clone of the repository" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        commands.main(["bench", "--help"])
    assert set(bench.PARTS + bench.ASKED_FOR) <= set(re.findall(r"\w+", capsys.readouterr().out))


@pytest.mark.parametrize("preset", ["portrait", "long"])
def test_contenders_draw_the_same_picture(make_manager, tmp_path, preset):
    manager, pipe = make_manager(mode="eager", presets=PRESETS), bare.load()
    bare.draw(pipe, str(tmp_path / "bare.png"), "a red house", 5, **numbers_of(preset))
    *_, last = manager.generate(manager.request("a red house", preset, 5))
    assert np.array_equal(np.asarray(last.result.images[0]), np.asarray(Image.open(tmp_path / "bare.png")))


class EagerGround(Ground):
    """Nothing is compiled."""

    def warm(self, **more):
        return environment(self.fresh(), ACCEL_UI_MODE="eager", **more)


def test_clients_are_measured_over_http(tmp_path):
    rows = list(clients.measure(EagerGround(tmp_path, Counts(clients=(2,), pictures=6))))
    assert [row.what for row in rows] == ["2 clients"]
    assert rows[0].value > 0
    assert "waiting" in rows[0].note


def test_child_answers_orders_and_says_why_it_ended(tmp_path):
    own = tmp_path / "presets.toml"
    own.write_text("[presets.small]\nheight = 64\nwidth = 64\nsteps = 2\nmax_sequence_length = 32\n")
    env = environment(tmp_path, ACCEL_UI_MODE="eager", ACCEL_UI_PRESETS=str(own))
    with Child("bare manager", tmp_path, env) as child:
        assert set(child.draw("small", "a red house", 3)) == {"seconds", "peak_bytes"}
        answer = child.draw("small", "a red house", 3, "manager")
        assert (answer["preset"], answer["seed"], answer["mode"], answer["graphs_compiled"]) == (
            "small",
            3,
            "eager",
            0,
        )
        assert answer["peak_bytes"] > 50e6
        with pytest.raises(ContenderEnded, match="seed"):
            child.draw("small", "a red house", -1, "manager")


def test_child_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "ORDER_PATIENCE", 1.0)
    with (
        Child("bare", tmp_path, environment(tmp_path), before=["-c", "import time; time.sleep(600)"]) as child,
        pytest.raises(TimeoutError, match="no answer"),
    ):
        child.wait()


@pytest.mark.parametrize("model", [real_models.KLEIN, real_models.SCHNELL])
def test_real_size_has_the_published_number_of_weights(model):
    with torch.device("meta"):
        transformer = real_models.build_transformer(model)
    elements = sum(value.numel() for value in transformer.state_dict().values())
    assert 2 * elements == CATALOGUE[model].component_bytes["transformer"]
