"""Models of the hub: gated, missing, offline; and the token, which is never printed."""

from __future__ import annotations

import shutil
import socket
from types import SimpleNamespace

import httpx2 as httpx
import huggingface_hub
import pytest
from huggingface_hub import errors

from accel_ui.loading import TINY_FOLDER, LoadError, load_pipeline, read_sizes, resolve_model
from test_loading import sentence

REPO = "someone/private-model"
TOKEN = "hf_ThisIsAVerySecretToken"


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


@pytest.mark.parametrize(
    "error", [ValueError(f"Illegal header value b'Bearer {TOKEN} '"), OSError(TOKEN), KeyError(TOKEN)]
)
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


def test_hub_that_never_answers_is_given_up(monkeypatch):
    """A real server that accepts and says nothing; the library's patience (six tries of a minute) is cut short."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for name, value in {
            "ENDPOINT": address, "HUGGINGFACE_CO_URL_TEMPLATE": address + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_OFFLINE": False, "HF_HUB_ETAG_TIMEOUT": 0.1, "HF_HUB_DOWNLOAD_TIMEOUT": 0.1,
        }.items():  # fmt: skip
            monkeypatch.setattr(huggingface_hub.constants, name, value)
        monkeypatch.setattr(huggingface_hub.file_download, "_ETAG_RETRY_TIMEOUT", 0.1)
        monkeypatch.setattr(huggingface_hub.utils._http, "time", SimpleNamespace(sleep=lambda seconds: None))
        message = sentence(read_sizes, resolve_model(REPO))
    assert REPO in message
    assert "Hugging Face cannot be reached" in message


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
