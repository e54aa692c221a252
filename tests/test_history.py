"""The pictures of each browser: private, bounded, deleted one or all."""

from __future__ import annotations

import os
from pathlib import Path

import gradio as gr
import pytest

from accel_ui import history as module
from accel_ui.history import History
from accel_ui.ui.gallery import Gallery


def add(history: History, owner: str | None, name: str, size: int = 10, age: int = 0) -> Path:
    folder = history.folder_of(owner)
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(b"x" * size)
    os.utime(path, (10**9 - age, 10**9 - age))
    return path


@pytest.fixture
def history(tmp_path):
    return History(tmp_path, most_bytes=100)


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


def made_name(number: int) -> str:
    return f"20260101-00000{number}-square-7-{number:012x}.png"


def test_number_is_bounded_for_each_browser(history, monkeypatch):
    monkeypatch.setattr(module, "MOST_PICTURES", 3)
    for index in range(5):
        new = add(history, "ann", made_name(index))
        add(history, None, made_name(index))
    history.prune("ann", [new])
    assert names(history, "ann") == [made_name(4), made_name(3), made_name(2)]
    assert len(list(history.folder_of(None).glob("*.png"))) == 5


def test_picture_just_made_stays_when_the_clock_was_set_back(history, monkeypatch):
    monkeypatch.setattr(module, "MOST_PICTURES", 2)
    for index in (5, 6, 7):
        add(history, "ann", made_name(index))
    new = add(history, "ann", made_name(1), size=60, age=10**8)
    history.prune("ann", [new])
    assert names(history, "ann") == [made_name(7), made_name(1)]
    newest = add(history, "ann", made_name(0), size=60, age=2 * 10**8)
    history.prune("ann", [newest])  # 120 bytes are more than the folder may have
    assert made_name(0) in names(history, "ann")
    assert made_name(1) not in names(history, "ann")


def test_disk_is_bounded_for_all_together_and_the_oldest_go(history):
    for index in range(3):
        add(history, "ann", made_name(index), size=30, age=100 - index)
    own = add(history, None, "holiday.png", size=500, age=10**6)
    history.prune("ann", [])
    assert len(names(history, "ann")) == 3  # 90 of 100 bytes; a picture that was not made here does not count
    new = add(history, "bob", made_name(9), size=30)
    history.prune("bob", [new])
    assert names(history, "bob") == [made_name(9)]
    assert names(history, "ann") == [made_name(2), made_name(1)]
    assert own.exists()
