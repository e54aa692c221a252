"""What a visitor can reach besides the page: nothing of the machine, and nobody else's pictures."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from gradio_client import Client

from conftest import ROOT, Server


@pytest.fixture(scope="module")
def made(server: Server) -> Path:
    """A picture on the server's disk, made through the API."""
    client = Client(server.url, verbose=False)
    server.wait_until_loaded(client)
    before = set(pictures(server))
    client.predict(prompt="a private house", preset="draft", seed=5, api_name="/generate")
    (path,) = set(pictures(server)) - before
    return path


def pictures(server: Server) -> list[Path]:
    return list((server.log.parent / "outputs").rglob("*.png"))


def fetch(server: Server, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    request = urllib.request.Request(f"{server.url}/{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        return error.code, error.read(), dict(error.headers)


def test_picture_is_fetched_by_its_whole_name_alone(server, made):
    status, body, _ = fetch(server, f"gradio_api/file={made}")
    assert (status, body) == (200, made.read_bytes())
    stem = made.name[: -len("0123456789ab.png")]  # time, preset and seed can be guessed, the rest cannot
    for guess in (
        made.parent,
        f"{made.parent}/",
        f"{made.parent}/{stem}000000000000.png",
        f"{made.parent}/{stem}*.png",
    ):
        status, body, _ = fetch(server, f"gradio_api/file={guess}")
        assert status == 403
        assert made.name.encode() not in body


def test_rest_of_the_machine_is_refused(server, made, tmp_path):
    folder = server.log.parent
    secret = tmp_path / "secret.txt"
    secret.write_text("top secret")
    cache = next((folder / "cache-link").parent.glob("*.toml"))
    outside = [
        "/etc/passwd", "/proc/self/environ", folder / ".env", cache, server.log, ROOT / "app.py", secret, ".env", "presets.toml",
        "outputs/../.env", f"{made.parent}/../.env", f"{made.parent}/../../../../../../etc/passwd",
        f"file://{secret}", f"/{secret}", "http://127.0.0.1:1/", "http://169.254.169.254/latest/meta-data",
    ]  # fmt: skip
    for path in outside:
        for shown in (str(path), urllib.parse.quote(str(path), safe=""), str(path).replace("..", "%2e%2e")):
            status, body, _ = fetch(server, f"gradio_api/file={shown}")
            assert status in (400, 403, 404), shown
            assert b"top secret" not in body
            assert b"root:" not in body
            assert b"ACCEL_UI" not in body


def test_symbolic_link_among_the_pictures_leads_nowhere(server, made, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("top secret")
    link = made.parent / "link.png"
    link.symlink_to(secret)
    try:
        status, body, _ = fetch(server, f"gradio_api/file={link}")
        assert status in (403, 404)
        assert b"top secret" not in body
    finally:
        link.unlink()


def test_graphs_are_not_files_to_download(server, warm_cache):
    graph = next(warm_cache.glob("artifacts/*/graph.bin"))
    assert fetch(server, f"gradio_api/file={graph}")[0] == 403


def test_history_of_another_browser_needs_its_word(server):
    """The page's handlers take the browser's word: a wrong one opens an empty history."""
    config = json.loads(fetch(server, "config")[1])
    history = next(part for part in config["components"] if part["props"].get("elem_id") == "pictures")
    opened = next(
        event for event in config["dependencies"] if history["id"] in event["outputs"] and [t[1] for t in event["targets"]] == ["load"]
    )  # fmt: skip
    for word in ("somebody-else", "", None, "../..", 5):
        body = json.dumps({"data": [word], "fn_index": opened["id"], "session_hash": "test"}).encode()
        request = urllib.request.Request(
            f"{server.url}/gradio_api/run/predict", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            _, shown = json.loads(answer.read())["data"]
        assert not shown["value"]


@pytest.mark.parametrize("path", ["gradio_api/info", "gradio_api/call/generate"])
def test_other_sites_may_not_read_answers(server, path):
    status, _, headers = fetch(server, path, Origin="https://evil.example", Host=server.url.split("//")[1])
    assert headers.get("access-control-allow-origin") is None
    assert status < 500


def test_status_names_no_folder(server):
    status = Client(server.url, verbose=False).predict(api_name="/status")
    text = json.dumps(status, ensure_ascii=False)
    for folder in (str(ROOT), str(server.log.parent), str(Path.home()) + "/"):
        assert folder not in text
