"""The life of a server: probes, who may come in, the end by SIGTERM and by Ctrl-C, and what the log says."""

from __future__ import annotations

import base64
import hashlib
import json
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from gradio_client import Client
from itsdangerous import TimestampSigner

from conftest import Server

PASSWORD = "a-secret-word"
PATIENCE = 120  # seconds after which a test gives up
PROMPT = "A lighthouse nobody may read of"
PRESETS = """
[presets.square]
height = 128
width = 128
steps = 4
max_sequence_length = 32
[presets.long]
height = 128
width = 128
steps = 120
max_sequence_length = 32
"""


def get(url: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    """Status and body, of an error too."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def metric(server: Server, line: str) -> float:
    """The value of one line of /metrics; 0 when it is not there."""
    found = [text for text in get(f"{server.url}/metrics")[1].splitlines() if text.startswith(line + " ")]
    return float(found[0].split()[-1]) if found else 0.0


@pytest.fixture(scope="module")
def guarded(tmp_path_factory) -> Iterator[Server]:
    """A server with a password, eager (nothing to compile), that logs JSON."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "presets.toml").write_text(PRESETS)
    server = Server(
        folder, ACCEL_UI_AUTH=f"ann:{PASSWORD},bob:other", ACCEL_UI_MODE="eager", ACCEL_UI_PRESETS="presets.toml",
        ACCEL_UI_CACHE_DIR=str(folder / "cache"), ACCEL_UI_LOG="json", ACCEL_UI_MAX_PER_CLIENT="2",
    )  # fmt: skip
    server.wait_for_port()
    yield server
    server.close()


def entered(server: Server, name: str = "ann", password: str = PASSWORD) -> Client:
    return Client(server.url, auth=(name, password), verbose=False)


# The order of the tests of `guarded` matters: it begins while the model loads and ends with the server.


def test_probes_stay_open_and_tell_the_truth(guarded):
    assert get(f"{guarded.url}/healthz") == (200, "ok\n")
    status, body = get(f"{guarded.url}/readyz")
    if status == 503:  # a fast machine may be through
        assert json.loads(body) == {"ready": False, "state": "loading", "reason": "the model is loading"}
        assert metric(guarded, "accel_ui_ready") == 0
    client = entered(guarded)
    guarded.wait_until_loaded(client)
    assert json.loads(get(f"{guarded.url}/readyz")[1]) == {"ready": True, "state": "ready", "reason": ""}
    client.predict(prompt=PROMPT, preset="square", seed=1, api_name="/generate")
    with pytest.raises(Exception, match="no preset"):
        client.predict(prompt=PROMPT, preset="513x512", seed=1, api_name="/generate")
    assert metric(guarded, "accel_ui_ready") == 1
    assert metric(guarded, 'accel_ui_requests_total{outcome="done",preset="square"}') == 1
    assert metric(guarded, 'accel_ui_refusals_total{kind="invalid"}') == 1
    assert metric(guarded, 'accel_ui_stage_seconds_count{stage="denoise"}') == 1
    assert metric(guarded, 'accel_ui_prompts_total{how="encoded"}') == 1
    assert metric(guarded, "accel_ui_device_memory_bytes") > 10**8
    labels = 'accel_ui_info{device="cpu",dtype="float32",mode="eager",model="tiny"}'
    assert metric(guarded, labels) == 1
    assert PROMPT not in get(f"{guarded.url}/metrics")[1]


@pytest.mark.parametrize(
    "path",
    [
        "config",
        "gradio_api/info",
        "gradio_api/openapi.json",
        "gradio_api/file=/etc/passwd",
        "gradio_api/file=presets.toml",
    ],
)
def test_nothing_but_the_probes_answers_without_the_password(guarded, path):
    status, body = get(f"{guarded.url}/{path}")
    assert status == 401
    assert "lighthouse" not in body
    assert str(guarded.log.parent) not in body


def test_api_and_wrong_password_are_refused(guarded):
    request = urllib.request.Request(
        f"{guarded.url}/gradio_api/call/generate", b'{"data": ["a house"]}', {"Content-Type": "application/json"}
    )
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(request, timeout=30)
    with pytest.raises(Exception, match="Could not login"):
        entered(guarded, password="wrong")


def test_one_visitor_has_a_share_of_the_queue_and_the_others_their_turn(guarded):
    # One client each: Gradio's cancel ends all requests of a client. They sign in before the long run begins.
    first, second, third, fourth = (entered(guarded) for _ in range(4))
    other = entered(guarded, "bob", "other")
    long = first.submit(prompt="first", preset="long", seed=1, api_name="/generate")
    next(iter(long))
    waiting = []
    for seed, client in ((2, second), (3, third)):
        waiting.append(client.submit(prompt="more", preset="square", seed=seed, api_name="/generate"))
        next(iter(waiting[-1]))
    with pytest.raises(Exception, match="2 of your requests are waiting, which is your share"):
        fourth.predict(prompt="too many", preset="square", seed=4, api_name="/generate")
    bob = other.submit(prompt="from bob", preset="square", seed=5, api_name="/generate")
    assert next(iter(bob))[1] == {"event": "queued", "position": 1, "reason": ""}  # before the two that wait
    long.cancel()
    assert [job.result(PATIENCE)[1]["seed"] for job in (bob, *waiting)] == [5, 2, 3]
    assert metric(guarded, 'accel_ui_refusals_total{kind="client_share"}') == 1
    assert metric(guarded, 'accel_ui_requests_total{outcome="stopped",preset="long"}') == 1


def test_sigterm_finishes_the_running_picture_and_refuses_the_rest(guarded):
    client = entered(guarded)
    running = client.submit(prompt=PROMPT, preset="long", seed=1, api_name="/generate")
    while not any(info.get("event") == "step" for _, info in running.outputs()):
        time.sleep(0.05)
    waiting = client.submit(prompt=PROMPT, preset="square", seed=2, api_name="/generate")
    next(iter(waiting))
    guarded.process.send_signal(signal.SIGTERM)
    with pytest.raises(Exception, match="The server is shutting down: try again in a minute"):
        waiting.result(PATIENCE)
    status, body = get(f"{guarded.url}/readyz")
    assert (status, json.loads(body)["state"]) == (503, "closing")
    with pytest.raises(Exception, match="The server is shutting down"):
        client.predict(prompt=PROMPT, preset="square", seed=3, api_name="/generate")
    picture, info = running.result(PATIENCE)
    assert info["steps"] == 120
    assert picture.endswith(".png")
    assert guarded.process.wait(30) == 0


def test_log_has_one_line_a_run_and_no_secret(guarded):
    text = guarded.log.read_text()
    assert PASSWORD not in text
    assert "lighthouse" not in text
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    runs = [line for line in lines if line["message"] == "run"]
    assert [run["outcome"] for run in runs].count("done") == 5
    assert [run["outcome"] for run in runs].count("stopped") == 1
    assert {"time", "level", "preset", "seed", "mode", "queue_s", "denoise_s", "total_s"} <= set(runs[0])


def test_second_ctrl_c_ends_at_once(tmp_path):
    server = Server(tmp_path, ACCEL_UI_MODE="eager", ACCEL_UI_CACHE_DIR=str(tmp_path / "cache"))
    try:
        server.wait_for_port()
        again = threading.Timer(0.2, server.process.send_signal, [signal.SIGINT])
        server.process.send_signal(signal.SIGINT)  # the model is loading, which cannot be interrupted
        again.start()
        assert server.process.wait(20) == 128 + signal.SIGINT
    finally:
        server.close()
    assert "Traceback" not in server.log.read_text()


def test_space_asks_for_a_hugging_face_account(tmp_path):
    """A Space with `hf_oauth: true`, whose session cookie is made here as Gradio makes it after the sign-in."""
    server = Server(
        tmp_path, SYSTEM="spaces", SPACE_ID="someone/demo", OAUTH_CLIENT_ID="id", OAUTH_CLIENT_SECRET="made-up", OAUTH_SCOPES="openid profile",
        OPENID_PROVIDER_URL="http://127.0.0.1:1", ACCEL_UI_AUTH="huggingface", ACCEL_UI_MODE="eager",
        ACCEL_UI_CACHE_DIR=str(tmp_path / "cache"),
    )  # fmt: skip
    profile = {"name": "Ann", "preferred_username": "ann", "profile": "", "picture": ""}
    session = {"oauth_info": {"userinfo": profile, "access_token": "x", "scope": "", "expires_at": time.time() + 999}}
    key = hashlib.sha256(b"made-up-v4").hexdigest()
    cookie = TimestampSigner(key).sign(base64.b64encode(json.dumps(session).encode())).decode()
    try:
        server.wait_for_port()
        assert get(f"{server.url}/healthz")[0] == 200
        stranger = Client(server.url, verbose=False)
        assert stranger.predict(api_name="/presets")
        with pytest.raises(Exception, match="Sign in with Hugging Face first"):
            stranger.predict(prompt=PROMPT, preset="draft", seed=1, api_name="/generate")
        ann = Client(server.url, verbose=False, headers={"Cookie": f"session={cookie}"})
        assert ann.predict(prompt=PROMPT, preset="draft", seed=1, api_name="/generate")[1]["seed"] == 1
    finally:
        server.close()
