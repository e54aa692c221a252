"""The promise: one graph per component and preset, kept on disk, and never a second one."""

from __future__ import annotations

import json
import shutil
import threading

import numpy as np
import pytest
import torch

from accel_ui.errors import UserError
from accel_ui.requests import Done, Failed
from conftest import managers, run_command

PROMPTS = [
    "a red house",
    "",
    "A sailboat on the sea at sunset",
    "🌋",
    "word " * 600,
    "家",
    "a tent in the snow, northern lights",
]


@pytest.fixture
def dynamo_compiles():
    """Compilations that Dynamo itself starts, counted apart from the app's own ledger."""
    from torch._dynamo import callback

    starts = []
    torch._dynamo.callback.callback_handler.register_start_callback(starts.append)
    yield starts
    callback.callback_handler.remove_start_callback(starts.append)


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    with managers(tmp_path_factory.mktemp("guarantee")) as make:
        yield make


@pytest.fixture(scope="module")
def warm(make, warm_cache):
    """A manager with all graphs; tests only use it."""
    return make(cache_dir=warm_cache)


@pytest.fixture(scope="module")
def eager(make):
    """What a picture should look like."""
    return make(mode="eager")


def kept(manager, target: str, preset: str) -> str:
    """Name of an artifact's folder. Those of other versions of the program may lie beside it."""
    graph = manager._engine.graphs._graphs[target, preset]
    return manager._engine.graphs._store.path(graph.name, graph.key).name


def distance(one, other) -> int:
    """Greatest difference between two results' pictures, of 255."""
    return np.abs(np.asarray(one.images[0], dtype=int) - np.asarray(other.images[0], dtype=int)).max()


def result(manager, prompt, preset, seed):
    *_, event = manager.generate(manager.request(prompt, preset, seed))
    assert isinstance(event, Done), event
    return event.result


def test_requests_from_four_threads_add_no_graph(warm, dynamo_compiles):
    manager, before = warm, warm.status()["runs"]
    presets = list(manager.presets)
    assert [row["state"] for row in manager.status()["presets"]] == ["ready"] * len(presets)
    wanted = [(PROMPTS[i % len(PROMPTS)] or "x", presets[i % len(presets)], i // 2) for i in range(16)]
    together: dict[int, np.ndarray] = {}

    def client(start: int) -> None:
        for i in range(start, len(wanted), 4):
            together[i] = np.asarray(result(manager, *wanted[i]).images[0])

    threads = [threading.Thread(target=client, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    status = manager.status()
    assert (status["graphs_compiled"], status["runs_since_last_graph"], len(together)) == (0, before + 16, 16)
    assert not dynamo_compiles
    for i in range(0, 16, 3):
        assert (np.asarray(result(manager, *wanted[i]).images[0]) == together[i]).all()
    assert not dynamo_compiles


def test_compiled_and_eager_pictures_agree(warm, eager):
    for preset in warm.presets:
        compiled, expected = (result(manager, "a lighthouse at sunset", preset, 3) for manager in (warm, eager))
        assert (compiled.mode, expected.mode) == ("compile", "eager")
        assert distance(compiled, expected) <= 1


def test_second_process_compiles_nothing(warm_cache, tmp_path):
    env = {"ACCEL_UI_CACHE_DIR": str(warm_cache), "ACCEL_UI_OUTPUT_DIR": str(tmp_path), "ACCEL_UI_COLD": "compile"}
    done = run_command("generate", "a red house", "--seed", "1", "--json", env=env)
    info = json.loads(done.stdout)
    assert (info["graphs_compiled"], info["mode"], info["timings"]["compile"]) == (0, "compile", 0)


def test_artifacts_work_in_another_folder(make_manager, warm_cache, tmp_path):
    """Copied without Inductor's own cache, as to another machine of the same kind."""
    shutil.copytree(warm_cache / "artifacts", tmp_path / "moved" / "artifacts")
    manager = make_manager(cache_dir=tmp_path / "moved")
    assert {row["state"] for row in manager.status()["presets"]} == {"ready"}
    assert result(manager, "a red house", "portrait", 1).mode == "compile"
    assert manager.ledger.graphs == 0


def test_another_size_is_refused_with_its_name(warm, dynamo_compiles):
    """Even from inside: the pipeline called with a size that is not the preset's."""
    manager, pipeline = warm, warm._engine.pipeline
    original = type(pipeline).__call__

    def larger(self, *args, height, width, **kwargs):
        return original(self, *args, height=height + 16, width=width, **kwargs)

    type(pipeline).__call__ = larger
    try:
        larger.__signature__ = __import__("inspect").signature(original)
        *_, event = manager.generate(manager.request("a red house", "square", 1))
    finally:
        type(pipeline).__call__ = original
    assert isinstance(event, Failed)
    assert "refuses a second" in event.reason
    assert "[1, 72, 48]" in event.reason
    assert "[1, 64, 48]" in event.reason
    assert not dynamo_compiles
    assert result(manager, "a red house", "square", 1).graphs_compiled == 0


def test_adapter_is_refused_with_a_way_out(warm):
    with pytest.raises(UserError, match="ACCEL_UI_MODE=eager"):
        warm._engine.pipeline.load_lora_weights("some/lora")


def test_damaged_or_foreign_artifacts_are_made_again_with_the_reason(make_manager, warm, eager, warm_cache, tmp_path):
    """One way to be of no use for each size; making one of them again takes half a minute, so one is enough."""
    cache = tmp_path / "cache"
    shutil.copytree(warm_cache / "artifacts", cache / "artifacts")
    square, landscape, portrait = (
        cache / "artifacts" / kept(warm, "transformer", preset) for preset in ("square", "landscape", "portrait")
    )
    (square / "graph.bin").write_bytes((square / "graph.bin").read_bytes()[:-1] + b"x")
    (landscape / "about.json").unlink()
    told = json.loads((portrait / "about.json").read_text())
    told["key"]["torch"] = "2.12.9"
    (portrait / "about.json").write_text(json.dumps(told))
    portrait.rename(portrait.with_name("transformer-96x160-000000000000"))

    manager = make_manager(cache_dir=cache, cold="compile")
    states = {preset: manager.preset_state(preset) for preset in manager.presets}
    assert {preset for preset, (state, _) in states.items() if state == "cold"} == states.keys() - {"large"}
    assert "2.12.9" in states["portrait"][1]
    assert all("damaged" in states[preset][1] for preset in ("square", "landscape"))
    assert not square.exists()

    made = result(manager, "a red house", "square", 5)
    assert made.graphs_compiled == 1
    assert distance(made, result(eager, "a red house", "square", 5)) <= 1
    (entry,) = (row for row in manager.ledger.rows() if row["how"] == "compiled")
    assert "damaged" in entry["why"]
    assert (square / "graph.bin").exists()
    assert result(manager, "a red house", "square", 5).graphs_compiled == 0


def test_presets_of_equal_shapes_share_what_is_kept(warm):
    """Steps and guidance reach no shape of this pipeline."""
    for target in ("transformer", "vae"):
        assert kept(warm, target, "draft") == kept(warm, target, "square") != kept(warm, target, "portrait")


def test_other_dtype_has_graphs_of_its_own(make_manager, warm_cache):
    manager = make_manager(cache_dir=warm_cache, dtype="bfloat16")
    state, why = manager.preset_state("square")
    assert state == "cold"
    assert "dtype (float32, now bfloat16)" in why


def test_cold_preset_answers_eagerly_and_is_compiled_behind(make_manager, warm, warm_cache, tmp_path):
    cache = tmp_path / "cache"
    shutil.copytree(warm_cache / "artifacts", cache / "artifacts")
    shutil.rmtree(cache / "artifacts" / kept(warm, "transformer", "draft"))
    manager = make_manager(cache_dir=cache, compile_components=("transformer",))  # half the time
    first = result(manager, "a red house", "draft", 1)
    assert (first.mode, first.graphs_compiled) == ("eager", 0)
    states = set()
    waiting = threading.Event()
    for _ in range(1200):
        states.add(manager.preset_state("draft")[0])
        if "ready" in states:
            break
        waiting.wait(0.5)
    assert states >= {"compiling", "ready"}
    assert manager.preset_state("square")[0] == "ready"  # of equal shapes
    then = result(manager, "a red house", "draft", 1)
    assert (then.mode, then.graphs_compiled) == ("compile", 0)
    assert distance(then, first) <= 1


def test_component_that_cannot_be_compiled_runs_eagerly_and_says_so(make_manager, monkeypatch):
    """A compiler that fails on the VAE; the denoiser's graph is left out to save the time."""
    import accel_ui.compilation.compiler as compiler

    def broken(name):
        raise RuntimeError("the compiler does not know this op")

    monkeypatch.setattr(compiler.torch._dynamo, "lookup_backend", broken)
    manager = make_manager(cold="compile", compile_components=("vae",))
    made = result(manager, "a red house", "draft", 1)
    assert made.mode == "eager"
    state, why = manager.preset_state("draft")
    assert state == "eager"
    assert "vae: it could not be compiled" in why
    assert "does not know this op" in why
    assert [row["how"] for row in manager.ledger.rows()] == ["eager"]


def test_machine_without_a_compiler_says_why_it_is_eager(tmp_path):
    env = {
        "ACCEL_UI_CACHE_DIR": str(tmp_path),
        "ACCEL_UI_OUTPUT_DIR": str(tmp_path),
        "CXX": "/nonexistent/g++",
        "PATH": "/nonexistent",
    }
    made = json.loads(run_command("generate", "a red house", "--preset", "draft", "--json", env=env).stdout)
    assert made["mode"] == "eager"
    assert "mode: eager (no C++ compiler was found" in run_command("doctor", env=env).stdout
