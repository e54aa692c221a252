"""Faults, injected for real or at the nearest seam: nothing already made is lost, and the next request works."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import torch
from gradio_client import Client

from accel_ui.metadata import read_info
from accel_ui.requests import Done, Failed
from conftest import Server

EAGER = {"mode": "eager"}


def ask(manager, preset: str = "draft", **values):
    """The last event of a run."""
    *_, last = manager.generate(manager.request("a red house", preset, 1, **values))
    return last


def test_kill_in_mid_run_leaves_history_and_cache_intact(warm_cache, tmp_path):
    (tmp_path / "presets.toml").write_text(
        "".join(
            f"[presets.{name}]\nheight = 128\nwidth = 128\nsteps = {steps}\nmax_sequence_length = 32\n"
            for name, steps in (("draft", 4), ("slow", 400))
        )
    )
    env = {
        "ACCEL_UI_PRESETS": "presets.toml", "ACCEL_UI_CACHE_DIR": str(warm_cache), "ACCEL_UI_WARMUP": "none",
        "ACCEL_UI_OUTPUT_DIR": "pictures",
    }  # fmt: skip
    server = Server(tmp_path, **env)
    try:
        server.wait_for_port()
        client = Client(server.url, verbose=False)
        _, info = client.predict(prompt="a red house", preset="draft", seed=1, api_name="/generate")
        run = client.submit(prompt="a red house", preset="slow", seed=1, api_name="/generate")
        while not any(event.get("event") == "step" for _, event in run.outputs()):
            time.sleep(0.05)
        os.killpg(server.process.pid, signal.SIGKILL)
        server.process.wait(20)
    finally:
        server.close()
    kept = list((tmp_path / "pictures").rglob("*"))
    assert [read_info(path) for path in kept if path.is_file()] == [info]  # whole, and no half of another one
    again = Server(tmp_path, **env)
    try:
        again.wait_for_port()
        client = Client(again.url, verbose=False)
        _, second = client.predict(prompt="a red house", preset="draft", seed=1, api_name="/generate")
        assert (second["mode"], second["graphs_compiled"]) == ("compile", 0)
        assert client.predict(api_name="/status")["graphs_compiled"] == 0
    finally:
        again.close()


@contextmanager
def full_disk(folder: Path):
    """`folder` on a disk of 64 KB; where mounting is not allowed, a limit on the size of files does nearly the same."""
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True)
    if mounted.returncode == 0:
        (folder / "filler").write_bytes(bytes(56_000))
        try:
            yield
            (folder / "filler").unlink()
        finally:
            subprocess.run(["umount", folder], check=True)
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_full_disk_is_said_and_leaves_no_half_picture(make_manager, tmp_path):
    pictures = tmp_path / "pictures"
    manager = make_manager(output_dir=tmp_path / "other", **EAGER)
    with full_disk(pictures):
        manager.history._folder = pictures
        last = ask(manager)
        assert isinstance(last, Failed)
        assert last.reason.startswith("The picture was made but could not be saved (")
        assert "make room in ACCEL_UI_OUTPUT_DIR" in last.reason
        assert not list(pictures.glob("*.png")) + list(pictures.glob("*.part"))
    assert isinstance(ask(manager), Done)


def test_folder_that_cannot_be_written_is_named_and_tried_again(make_manager, tmp_path):
    (tmp_path / "file").write_text("in the way")
    manager = make_manager(cache_dir=tmp_path / "file" / "cache", **EAGER)
    ready = manager.readiness()
    assert (ready.ready, ready.state) == (False, "failed")
    assert "ACCEL_UI_CACHE_DIR=…/cache cannot be written" in ready.reason
    assert str(tmp_path) in manager.reason  # whole for the log
    last = ask(manager)
    assert isinstance(last, Failed)
    assert last.refused
    assert str(tmp_path) not in last.reason
    (tmp_path / "file").unlink()
    manager.retry()
    assert manager.wait_until_loaded(300)
    assert manager.readiness().ready
    assert isinstance(ask(manager), Done)


def test_damaged_history_is_shown_without_the_damage(make_manager):
    manager = make_manager(**EAGER)
    folder = manager.history.folder_of("ann")
    (folder / "20990101-000000-folder.png").mkdir(parents=True)
    (folder / "20990101-000000-empty.png").touch()
    (folder / "20990101-000000-noise.png").write_bytes(os.urandom(1000))
    (folder / "20990101-000000-nowhere.png").symlink_to("/nonexistent")
    assert [path.name[16:] for path in manager.history.pictures("ann")] == ["noise.png", "empty.png"]
    assert isinstance(ask(manager), Done)
    assert manager.history.clear("ann") == 2


def failing(manager, error):
    """The transformer runs into `error` (called for it) at its second step, once."""
    transformer = manager._engine.pipeline.transformer
    calls = []

    def hook(module, args, kwargs):
        calls.append(1)
        if len(calls) == 2:
            handle.remove()
            error()

    handle = transformer.transformer_blocks[0].register_forward_pre_hook(hook, with_kwargs=True)


def test_device_out_of_memory_is_said_and_the_next_request_works(make_manager):
    manager = make_manager(**EAGER)
    assert isinstance(ask(manager), Done)
    held = []

    def fill() -> None:
        held.append(torch.zeros(50_000_000))
        torch.empty(10**15)  # the allocator's own error

    failing(manager, fill)
    last = ask(manager)
    assert last.reason == "This machine is out of memory: choose a smaller preset, or end other programs."
    assert manager._engine.prompts.counts == {"encoded": 1, "remembered": 1}
    assert isinstance(ask(manager), Done)
    assert manager._engine.prompts.counts["encoded"] == 2  # the remembered embeddings were given back
    assert manager.readiness().ready


def test_lost_device_is_not_ready_any_more(make_manager, monkeypatch):
    """A CPU cannot be lost: what its error and its probe would say is put in their places."""
    manager = make_manager(**EAGER)

    def lose() -> None:
        raise RuntimeError("unspecified launch failure")

    failing(manager, lose)
    backend = manager._engine.survey.backend
    assert backend.silence("cpu") is None
    assert "meta" in backend.silence("meta")  # a device that cannot compute
    monkeypatch.setattr(type(backend), "silence", lambda self, device: "unspecified launch failure")
    last = ask(manager)
    assert last.reason == "CPU does not answer any more (unspecified launch failure): restart Accel UI."
    assert manager.readiness().state == "failed"
    assert manager.status()["reason"] == last.reason
    assert ask(manager).refused


def test_unknown_error_gets_a_reference_and_the_app_stays_ready(make_manager, caplog):
    manager = make_manager(**EAGER)

    def surprise() -> None:
        raise RuntimeError("/etc/secret: a surprise")

    failing(manager, surprise)
    last = ask(manager)
    reference = last.reason.split()[-1].rstrip(".")
    assert "secret" not in last.reason
    assert f"reference {reference}" in caplog.text
    assert "a surprise" in caplog.text
    assert manager.readiness().ready
    assert isinstance(ask(manager), Done)


def test_compiler_that_hangs_is_ended_and_the_preset_stays_eager(make_manager, tmp_path, monkeypatch):
    compiler = tmp_path / "hanging-g++"
    compiler.write_text(
        f'#!/bin/sh\ncase "$*" in *--version*) exec {shutil.which("g++")} "$@";; esac\nexec sleep 4321\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    manager = make_manager(compile_limit=15)
    assert isinstance(ask(manager), Done)  # eagerly, at once
    while manager.preset_state("draft")[0] in ("cold", "compiling"):
        threading.Event().wait(0.2)
    state, why = manager.preset_state("draft")
    assert state == "eager"
    assert "longer than ACCEL_UI_COMPILE_LIMIT (15 s)" in why
    assert not [process for process in psutil.process_iter(["cmdline"]) if "4321" in (process.info["cmdline"] or ())]
    assert isinstance(ask(manager), Done)
