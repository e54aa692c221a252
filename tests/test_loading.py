"""From ACCEL_UI_MODEL to a pipeline: folders, what is missing or damaged in them."""

from __future__ import annotations

import json
import shutil

import pytest

from accel_ui.catalogue import FLUX2_KLEIN, FLUX_SCHNELL, TINY
from accel_ui.errors import UserError
from accel_ui.loading import (
    TINY_FOLDER,
    Model,
    load_pipeline,
    missing_weights,
    place,
    read_sizes,
    resolve_model,
)
from accel_ui.placement import plan


@pytest.fixture
def folder(tmp_path):
    """A copy of the embedded model that a test may damage."""
    return shutil.copytree(TINY_FOLDER, tmp_path / "copy", ignore=shutil.ignore_patterns("*.png"))


def sentence(function, *args) -> str:
    with pytest.raises(UserError) as error:
        function(*args)
    message = str(error.value)
    assert "\n" not in message
    return message


def test_names_are_told_apart(folder):
    assert resolve_model("tiny") == Model("tiny", TINY_FOLDER, TINY)
    assert resolve_model(str(folder)).folder == folder
    assert resolve_model(FLUX2_KLEIN.id) == Model(FLUX2_KLEIN.id, None, FLUX2_KLEIN)
    assert resolve_model("someone/something") == Model("someone/something", None, None)


@pytest.mark.parametrize("name", ["/nowhere/at/all", "./nowhere", "~/no/such/folder", "just-a-word", "a/b/c", "a b/c",
                                  "https://huggingface.co/a/b", "~nosuchuser/model", "x" * 300])  # fmt: skip
def test_name_of_nothing_is_refused(name):
    message = sentence(resolve_model, name)
    assert f"ACCEL_UI_MODEL={name}" in message
    assert "no folder here and no Hugging Face id" in message


def test_folder_that_is_no_pipeline_is_refused(tmp_path):
    message = sentence(resolve_model, str(tmp_path))
    assert str(tmp_path) in message
    assert "save_pretrained" in message


def test_local_copy_of_a_known_model_keeps_its_presets(tmp_path):
    folder = tmp_path / "FLUX.1-schnell"
    folder.mkdir()
    (folder / "model_index.json").write_text("{}")
    assert resolve_model(str(folder)).known is FLUX_SCHNELL


@pytest.mark.parametrize("text", ["{", "", "\x00", "[]", "5"])
def test_damaged_index_is_named(folder, text):
    (folder / "model_index.json").write_text(text)
    message = sentence(read_sizes, resolve_model(str(folder)))
    assert "model_index.json" in message
    assert "damaged" in message


def test_damaged_weight_file_is_named_before_anything_is_loaded(folder):
    file = folder / "vae" / "diffusion_pytorch_model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000])
    assert str(file) in sentence(read_sizes, resolve_model(str(folder)))


@pytest.mark.filterwarnings("ignore")
def test_weight_file_that_spoils_between_look_and_load_is_explained(folder):
    file = folder / "vae" / "diffusion_pytorch_model.safetensors"
    file.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n")
    message = sentence(load_pipeline, resolve_model(str(folder)), "float32")
    assert str(folder) in message
    assert "damaged" in message


@pytest.mark.parametrize("change", ["no component", "unknown class"])
def test_incomplete_pipeline_is_one_sentence(folder, change):
    if change == "no component":
        shutil.rmtree(folder / "transformer")
    else:
        index = json.loads((folder / "model_index.json").read_text())
        (folder / "model_index.json").write_text(json.dumps(index | {"_class_name": "NoSuchPipeline"}))
    assert str(folder) in sentence(load_pipeline, resolve_model(str(folder)), "float32")


def test_pipeline_without_weights_is_refused(folder):
    for file in folder.glob("*/*.safetensors"):
        file.unlink()
    model = resolve_model(str(folder))
    assert "no safetensors weights" in sentence(missing_weights, read_sizes(model), model)


def test_embedded_model_loads_and_goes_where_the_plan_says():
    """Its "device" is torch's meta device: the only other one that every machine has."""
    model = resolve_model("tiny")
    sizes = read_sizes(model)
    missing_weights(sizes, model)
    pipeline = load_pipeline(model, "bfloat16")
    assert {str(pipeline.components[size.name].dtype) for size in sizes} == {"torch.bfloat16"}
    place(pipeline, plan(sizes, device="meta", memory=0, dtype="bfloat16", text_encoder_device="cpu"), "meta")
    devices = {size.name: pipeline.components[size.name].device.type for size in sizes}
    assert devices == {"transformer": "meta", "vae": "meta", "text_encoder": "cpu", "text_encoder_2": "cpu"}
