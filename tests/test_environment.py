"""Variables set before torch is imported, and folders that can be written."""

from __future__ import annotations

import os

import pytest

from accel_ui.environment import FolderError, ensure_folder, prepare_environment

pytestmark = pytest.mark.usefixtures("environment_put_back")


def test_caches_point_into_the_folder_that_survives_a_restart(tmp_path):
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        os.environ.pop(name, None)
    prepare_environment(tmp_path)
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        assert os.environ[name].startswith(f"{tmp_path}{os.sep}")


@pytest.mark.parametrize("name", ["TORCHINDUCTOR_CACHE_DIR", "OMP_WAIT_POLICY", "GRADIO_ANALYTICS_ENABLED"])
def test_what_the_user_has_set_stays(tmp_path, name):
    os.environ[name] = "mine"
    prepare_environment(tmp_path)
    assert os.environ[name] == "mine"


def test_folder_is_made_private_and_left_empty(tmp_path):
    folder = ensure_folder(tmp_path / "a" / "b", "ACCEL_UI_CACHE_DIR")
    assert list(folder.iterdir()) == []
    assert folder.stat().st_mode & 0o077 == 0


def test_folder_that_exists_keeps_what_it_holds(tmp_path):
    (tmp_path / "picture.png").touch()
    assert [file.name for file in ensure_folder(tmp_path, "ACCEL_UI_OUTPUT_DIR").iterdir()] == ["picture.png"]


@pytest.mark.parametrize("below", ["", "below"])
def test_folder_that_cannot_be_is_named_with_its_variable(tmp_path, below):
    (tmp_path / "file").touch()
    with pytest.raises(FolderError) as error:
        ensure_folder(tmp_path / "file" / below, "ACCEL_UI_OUTPUT_DIR")
    message = str(error.value)
    assert message.startswith(f"ACCEL_UI_OUTPUT_DIR={tmp_path / 'file' / below} cannot be written (")
    assert message.endswith("set ACCEL_UI_OUTPUT_DIR to a folder that can.")
