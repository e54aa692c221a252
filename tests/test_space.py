"""What a Hugging Face Space reads: the front matter of the README, the Dockerfile; and the folders it gets."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from accel_ui import space
from accel_ui.settings import load_settings
from conftest import ROOT

README = (ROOT / "README.md").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
COLORS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.+)$", DOCKERFILE, re.M)


@pytest.fixture
def storage(tmp_path, monkeypatch):
    monkeypatch.setattr(space, "STORAGE", tmp_path / "data")
    return tmp_path / "data"


def settings_with(**variables: str):
    os.environ.update(variables)
    return load_settings("/nonexistent/.env")


@pytest.mark.usefixtures("environment_put_back")
def test_space_with_storage_keeps_graphs_and_pictures_on_it(storage):
    storage.mkdir()
    settings = settings_with(SPACE_ID="someone/accel-ui", ACCEL_UI_CACHE_DIR="")
    assert (settings.cache_dir, settings.output_dir) == (storage / "accel-ui", storage / "outputs")
    assert os.environ["GRADIO_SERVER_NAME"] == "0.0.0.0"
    assert not list(storage.iterdir())


@pytest.mark.usefixtures("environment_put_back")
def test_what_the_user_has_set_stays(storage):
    storage.mkdir()
    settings = settings_with(
        SPACE_ID="someone/accel-ui", ACCEL_UI_OUTPUT_DIR="/elsewhere", GRADIO_SERVER_NAME="127.0.0.1"
    )
    assert (settings.cache_dir, settings.output_dir) == (storage / "accel-ui", Path("/elsewhere"))
    assert os.environ["GRADIO_SERVER_NAME"] == "127.0.0.1"


@pytest.mark.usefixtures("environment_put_back")
@pytest.mark.parametrize("what", ["nothing", "file", "not a space"])
def test_without_storage_the_folders_are_the_usual_ones(storage, what):
    if what == "file":
        storage.touch()
    elif what == "not a space":
        storage.mkdir()
    settings = settings_with(**{} if what == "not a space" else {"SPACE_ID": "someone/accel-ui"})
    assert (settings.cache_dir, settings.output_dir) == (Path.home() / ".cache/accel-ui", Path.cwd() / "outputs")


def test_front_matter_is_what_the_hub_accepts():
    matter = yaml.safe_load(README.split("---\n")[1])
    assert (matter["sdk"], matter["app_file"], matter["license"]) == ("gradio", "app.py", "apache-2.0")
    assert {matter["colorFrom"], matter["colorTo"]} <= COLORS
    assert len(matter["short_description"]) <= 60
    assert matter["python_version"] in ("3.10", "3.12")  # those of ZeroGPU
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    wanted = {r.name: r.specifier for r in (Requirement(line) for line in lines if line and not line.startswith("#"))}
    assert matter["sdk_version"] in wanted["gradio"]  # a Space installs both in one command
    assert "2.11.0" in wanted["torch"]  # the newest of ZeroGPU
    assert "spaces" not in wanted  # every Space has it


def test_dockerfile_copies_what_the_app_needs_and_runs_it_as_nobody_special():
    ignored, *kept = (line for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] != "#")
    copied = [source for line in instructions("COPY") for source in shlex.split(line)[:-1]]
    assert ignored == "*"
    assert sorted(copied) == sorted(line[1:] for line in kept if line.startswith("!"))
    assert all((ROOT / source).exists() for source in copied)
    assert instructions("USER") == ["1000"]
    assert instructions("EXPOSE") == ["7860"]
    assert "http://127.0.0.1:7860/healthz" in instructions("HEALTHCHECK")[0]
    assert instructions("CMD")[-1] == '["python", "app.py"]'
    assert set(re.findall(r"ACCEL_UI_\w+", DOCKERFILE)) <= set(re.findall(r"ACCEL_UI_\w+", README))
