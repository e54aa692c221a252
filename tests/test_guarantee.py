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
from conftest import run_command

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


def result(manager, prompt, preset, seed):
    *_, event = manager.generate(manager.request(prompt, preset, seed))
    assert isinstance(event, Done), event
    return event.result


def test_requests_from_four_threads_add_no_graph(make_manager, warm_cache, dynamo_compiles):
    manager = make_manager(cache_dir=warm_cache)
    presets = list(manager.presets)
    assert [row["state"] for row in manager.status()["presets"]] == ["ready"] * 4
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
    assert (status["graphs_compiled"], status["runs_since_last_graph"], len(together)) == (0, 16, 16)
    assert not dynamo_compiles
    for i in range(0, 16, 3):
        assert (np.asarray(result(manager, *wanted[i]).images[0]) == together[i]).all()
    assert not dynamo_compiles


def test_compiled_and_eager_pictures_agree(make_manager, warm_cache):
    compiled, eager = make_manager(cache_dir=warm_cache), make_manager(mode="eager")
    for preset in compiled.presets:
        pictures = [
            np.asarray(result(m, "a lighthouse at sunset", preset, 3).images[0], dtype=int) for m in (compiled, eager)
        ]
        assert np.abs(pictures[0] - pictures[1]).max() <= 1  # of 255


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


def test_another_size_is_refused_with_its_name(make_manager, warm_cache, dynamo_compiles):
    """Even from inside: the pipeline called with a size that is not the preset's."""
    manager = make_manager(cache_dir=warm_cache)
    pipeline = manager._engine.pipeline
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


def test_adapter_is_refused_with_a_way_out(make_manager, warm_cache):
    pipeline = make_manager(cache_dir=warm_cache)._engine.pipeline
    with pytest.raises(UserError, match="ACCEL_UI_MODE=eager"):
        pipeline.load_lora_weights("some/lora")


@pytest.mark.parametrize("damage", ["truncated", "changed", "no-about", "other-torch"])
def test_damaged_or_foreign_artifact_is_made_again_with_the_reason(make_manager, warm_cache, tmp_path, damage):
    cache = tmp_path / "cache"
    shutil.copytree(warm_cache / "artifacts", cache / "artifacts")
    (folder,) = (cache / "artifacts").glob("transformer-draft-*")
    graph, about = folder / "graph.bin", folder / "about.json"
    if damage == "truncated":
        graph.write_bytes(graph.read_bytes()[:1000])
    elif damage == "changed":
        graph.write_bytes(graph.read_bytes()[:-1] + b"x")
    elif damage == "no-about":
        about.unlink()
    else:
        told = json.loads(about.read_text())
        told["key"]["torch"] = "2.12.9"
        about.write_text(json.dumps(told))
        folder.rename(folder.with_name("transformer-draft-000000000000"))
    manager = make_manager(cache_dir=cache, cold="compile")
    assert manager.preset_state("draft")[0] == "cold"
    expected = np.asarray(result(make_manager(mode="eager"), "a red house", "draft", 5).images[0], dtype=int)
    made = result(manager, "a red house", "draft", 5)
    assert made.graphs_compiled == 1
    assert np.abs(np.asarray(made.images[0], dtype=int) - expected).max() <= 1
    entry = next(row for row in manager.ledger.rows() if row["how"] == "compiled")
    assert ("2.12.9" if damage == "other-torch" else "damaged") in entry["why"]
    assert result(manager, "a red house", "draft", 5).graphs_compiled == 0


def test_other_dtype_has_graphs_of_its_own(make_manager, warm_cache):
    manager = make_manager(cache_dir=warm_cache, dtype="bfloat16")
    state, why = manager.preset_state("square")
    assert state == "cold"
    assert "dtype (float32, now bfloat16)" in why


def test_cold_preset_answers_eagerly_and_is_compiled_behind(make_manager, warm_cache, tmp_path):
    cache = tmp_path / "cache"
    shutil.copytree(warm_cache / "artifacts", cache / "artifacts")
    (folder,) = (cache / "artifacts").glob("vae-draft-*")
    shutil.rmtree(folder)
    manager = make_manager(cache_dir=cache)
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
    then = result(manager, "a red house", "draft", 1)
    assert (then.mode, then.graphs_compiled) == ("compile", 0)
    difference = np.abs(np.asarray(then.images[0], dtype=int) - np.asarray(first.images[0], dtype=int))
    assert difference.max() <= 1


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
