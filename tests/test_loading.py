"""From ACCEL_UI_MODEL to a pipeline: folders, damaged files, a hub that refuses, no network."""

from __future__ import annotations

import json
import shutil

import httpx2 as httpx
import huggingface_hub
import pytest
from huggingface_hub import errors

from accel_ui.catalogue import FLUX2_KLEIN, FLUX_SCHNELL, TINY
from accel_ui.errors import UserError
from accel_ui.loading import (
    TINY_FOLDER,
    LoadError,
    Model,
    load_pipeline,
    missing_weights,
    place,
    read_sizes,
    resolve_model,
)
from accel_ui.placement import plan

REPO = "someone/private-model"
TOKEN = "hf_ThisIsAVerySecretToken"


@pytest.fixture
def folder(tmp_path):
    """A copy of the embedded model that a test may damage."""
    return shutil.copytree(TINY_FOLDER, tmp_path / "copy", ignore=shutil.ignore_patterns("*.png"))


@pytest.fixture
def hub(monkeypatch):
    """A hub that answers the first question with an error of huggingface_hub's own; there is no network here."""

    def answers(error: Exception) -> None:
        def raises(*args, **kwargs):
            raise error

        monkeypatch.setattr(huggingface_hub, "hf_hub_download", raises)

    return answers


def hub_error(kind: type[errors.HfHubHTTPError], status: int, text: str = "from the hub") -> errors.HfHubHTTPError:
    request = httpx.Request("GET", f"https://huggingface.co/{REPO}", headers={"authorization": f"Bearer {TOKEN}"})
    return kind(text, response=httpx.Response(status, request=request))


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


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("kind", [errors.GatedRepoError, errors.RepositoryNotFoundError, errors.HfHubHTTPError])
def test_gated_model_names_the_licence_page_and_the_token_to_set(hub, monkeypatch, kind, status):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    hub(hub_error(kind, status))
    message = sentence(read_sizes, resolve_model(REPO))
    assert f"https://huggingface.co/{REPO}" in message
    assert "set HF_TOKEN" in message


@pytest.mark.parametrize("status", [401, 403])
def test_token_that_may_not_read_the_model_is_never_printed(hub, monkeypatch, status):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub(hub_error(errors.GatedRepoError, status, f"Bearer {TOKEN} is not in the list"))
    message = sentence(read_sizes, resolve_model(REPO))
    assert "to this token" in message
    assert f"https://huggingface.co/{REPO}" in message
    assert TOKEN not in message


@pytest.mark.parametrize("error", [ValueError(f"Illegal header value b'Bearer {TOKEN} '"), OSError(TOKEN), KeyError(TOKEN)])
def test_token_in_an_unforeseen_error_is_not_printed(hub, monkeypatch, error):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub(error)
    assert TOKEN not in sentence(read_sizes, resolve_model(REPO))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (hub_error(errors.RepositoryNotFoundError, 404), f"no model {REPO} on Hugging Face"),
        (hub_error(errors.RemoteEntryNotFoundError, 404), "no diffusers pipeline"),
        (errors.LocalEntryNotFoundError("not in the cache"), "unset HF_HUB_OFFLINE"),
        (errors.OfflineModeIsEnabled("offline"), "unset HF_HUB_OFFLINE"),
        (httpx.ConnectError("no route"), "check the network"),
        (httpx.ReadTimeout("too slow"), "check the network"),
        (TimeoutError(), "check the network"),
        (MemoryError(), "too little memory"),
        (RuntimeError("first line\nsecond line"), "cannot be loaded: first line"),
        (RuntimeError(), "cannot be loaded: RuntimeError"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_hub_trouble_says_what_to_do(hub, error, words):
    hub(error)
    message = sentence(read_sizes, resolve_model(REPO))
    assert words in message
    assert REPO in message


def test_offline_and_not_in_the_cache_says_so():
    """The real function, under HF_HUB_OFFLINE=1."""
    message = sentence(read_sizes, resolve_model("someone/never-downloaded"))
    assert "someone/never-downloaded is not on this machine" in message
    assert "HF_HUB_OFFLINE" in message
    with pytest.raises(LoadError):
        load_pipeline(resolve_model("someone/never-downloaded"), "float32")


def test_offline_with_a_cached_copy_needs_no_hub(monkeypatch, tmp_path):
    """The cache of huggingface_hub as a download leaves it, made of the embedded model."""
    cached = tmp_path / f"models--{REPO.replace('/', '--')}"
    shutil.copytree(TINY_FOLDER, cached / "snapshots" / ("0" * 40), ignore=shutil.ignore_patterns("*.png"))
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("0" * 40)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    sizes = {size.name: size for size in read_sizes(resolve_model(REPO))}
    assert sizes == {size.name: size for size in read_sizes(resolve_model("tiny"))}
    assert load_pipeline(resolve_model(REPO), "float32").vae is not None
