"""The pictures of each browser: private, bounded, deleted one or all."""

from __future__ import annotations

import os
from pathlib import Path

import gradio as gr
import pytest

from accel_ui import history as module
from accel_ui.history import History
from accel_ui.ui.gallery import Gallery


def add(history: History, owner: str | None, name: str, size: int = 10, age: int = 0) -> None:
    folder = history.folder_of(owner)
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(b"x" * size)
    os.utime(path, (10**9 - age, 10**9 - age))


@pytest.fixture
def history(tmp_path):
    return History(tmp_path)


def names(history: History, owner: str | None) -> list[str]:
    return [path.name for path in history.pictures(owner)]


@pytest.mark.parametrize(("shared", "keeper"), [(False, "ann"), (True, "everybody")])
def test_setting_decides_whose_history_a_picture_goes_to(history, shared, keeper):
    with gr.Blocks():
        gallery = Gallery(history, shared=shared)
    add(history, keeper, "a.png")
    assert gallery.keeper("ann") == keeper
    assert [Path(path).name for path in gallery.refreshed("ann")["value"]] == ["a.png"]
    assert len(gallery.refreshed("bob")["value"]) == int(shared)


def test_newest_first_and_each_browser_its_own(history):
    for name in ("2026-1.png", "2026-3.png", "2026-2.png"):
        add(history, "ann", name)
    add(history, "bob", "2026-9.png")
    add(history, None, "2026-8.png")
    assert names(history, "ann") == ["2026-3.png", "2026-2.png", "2026-1.png"]
    assert names(history, "bob") == ["2026-9.png"]
    assert names(history, None) == names(history, "") == []


def test_folder_does_not_tell_the_word_and_stays_below(history, tmp_path):
    for owner in ("secret-word", "../../etc", "a/b", "\ud800", "x" * 10_000):
        folder = history.folder_of(owner)
        assert folder.parent == tmp_path
        assert owner[:6] not in folder.name


def test_delete_takes_one_of_ones_own_only(history):
    add(history, "ann", "a.png")
    add(history, "ann", "b.png")
    add(history, "bob", "c.png")
    assert history.delete("ann", "a.png")
    assert not history.delete("ann", "c.png")
    assert not history.delete("ann", "../x.png")
    assert (names(history, "ann"), names(history, "bob")) == (["b.png"], ["c.png"])
    assert history.clear("ann") == 1
    assert (names(history, "ann"), names(history, "bob")) == ([], ["c.png"])
    assert history.clear(None) == 0


def test_number_is_bounded_for_each_browser(history, monkeypatch):
    monkeypatch.setattr(module, "MOST_PICTURES", 3)
    for index in range(5):
        add(history, "ann", f"{index}.png")
        add(history, None, f"{index}.png")
    history.prune("ann")
    assert names(history, "ann") == ["4.png", "3.png", "2.png"]
    assert len(list(history.folder_of(None).glob("*.png"))) == 5


def test_disk_is_bounded_for_all_together_and_the_oldest_go(history, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    for index in range(4):
        add(history, "ann", f"{index}.png", size=30, age=100 - index)
    add(history, "bob", "new.png", size=30)
    history.prune("bob")
    assert names(history, "bob") == ["new.png"]
    assert names(history, "ann") == ["3.png", "2.png"]


def test_disk_stays_bounded_while_pictures_come(history, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    for index in range(20):
        name = f"{index:02}.png"
        add(history, "ann", name, size=30, age=100 - index)
        history.prune("ann", [history.folder_of("ann") / name])
        kept = names(history, "ann")
        assert kept[0] == name
        assert sum(path.stat().st_size for path in history.pictures("ann")) <= 100
    assert len(kept) >= 2
