"""The HTTP API, used by a real gradio_client and by curl."""

from __future__ import annotations

import concurrent.futures
import hashlib
import re
import subprocess

import pytest
from gradio_client import Client
from PIL import Image

from accel_ui.metadata import read_info
from conftest import ROOT, Server

PROMPTS = [
    "a red house",
    "A sailboat on the sea at sunset",
    "🌋",
    "word " * 600,
    "家",
    "a tent in the snow, northern lights",
]
PRESETS = ["square", "landscape", "portrait", "draft"]


@pytest.fixture(scope="module")
def client(server):
    client = Client(server.url, verbose=False)
    server.wait_until_loaded(client)
    return client


def pixels(path: str) -> str:
    with Image.open(path) as image:
        return hashlib.sha256(image.tobytes()).hexdigest()


def test_page_answers_while_the_model_is_loading(server, tmp_path):
    other = Server(tmp_path, ACCEL_UI_CACHE_DIR=str(tmp_path), ACCEL_UI_WARMUP="none", ACCEL_UI_MODE="eager")
    try:
        other.wait_for_port()
        client = Client(other.url, verbose=False)
        status = client.predict(api_name="/status")
        assert status["phase"] == "loading"
        # A request that comes now waits for the model and is answered.
        picture, info = client.predict(prompt="a red house", preset="draft", seed=1, api_name="/generate")
        assert read_info(picture) == info
    finally:
        other.close()


def test_mixed_requests_from_four_clients_add_no_graph(server, client):
    count = 24  # each pair that counting up meets, twice
    wanted = [(PROMPTS[i % len(PROMPTS)], PRESETS[i % len(PRESETS)], i // 2) for i in range(count)]
    before = client.predict(api_name="/status")
    assert {row["id"]: row["state"] for row in before["presets"]} | {"slow": ""} == dict.fromkeys(PRESETS, "ready") | {
        "slow": ""
    }

    def ask(start: int) -> dict[int, str]:
        own = Client(server.url, verbose=False)
        answers = {}
        for i in range(start, len(wanted), 4):
            prompt, preset, seed = wanted[i]
            picture, info = own.predict(prompt=prompt, preset=preset, seed=seed, api_name="/generate")
            assert (info["prompt"], info["preset"], info["seed"]) == (prompt.strip(), preset, seed)
            assert info["mode"] == "compile"
            answers[i] = pixels(picture)
        return answers

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        together = {i: digest for answers in pool.map(ask, range(4)) for i, digest in answers.items()}
    after = client.predict(api_name="/status")
    assert after["runs"] - before["runs"] == count
    assert after["runs_since_last_graph"] - before["runs_since_last_graph"] == count
    assert after["graphs_compiled"] == 0
    for i in range(0, count, 5):
        prompt, preset, seed = wanted[i]
        assert pixels(client.predict(prompt=prompt, preset=preset, seed=seed, api_name="/generate")[0]) == together[i]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"prompt": ""}, "empty"),
        ({"prompt": "x" * 20_000}, "shorten it"),
        ({"prompt": 5}, "must be text"),
        ({"preset": "513x512"}, "no preset"),
        ({"preset": "4096x4096"}, "no preset"),
        ({"seed": -1}, "whole number"),
        ({"seed": 2**64}, "whole number"),
        ({"seed": 3.7}, "whole number"),
        ({"seed": True}, "whole number"),
        ({"seed": None}, "whole number"),
        ({"seed": "many"}, "whole number"),
    ],
)
def test_bad_values_get_a_sentence_and_the_next_request_works(client, values, words):
    runs = client.predict(api_name="/status")["runs"]
    with pytest.raises(Exception, match=words):
        client.predict(**{"prompt": "a red house", "preset": "draft", "seed": 1, **values}, api_name="/generate")
    assert client.predict(api_name="/status")["runs"] == runs
    assert client.predict(prompt="a red house", preset="draft", seed=1, api_name="/generate")[1]["seed"] == 1


def test_a_size_cannot_be_asked_for(client):
    with pytest.raises(Exception, match="height"):
        client.predict(prompt="a red house", height=512, api_name="/generate")


def test_progress_is_streamed(client):
    job = client.submit(prompt="a streamed house", preset="square", seed=1, api_name="/generate")
    picture, _ = job.result()
    events = [info["event"] for path, info in job.outputs() if path is None]
    assert events[0] == "queued"
    assert "step" in events
    assert picture.endswith(".png")


def test_cancelled_client_frees_the_accelerator(client):
    job = client.submit(prompt="a red house", preset="slow", seed=1, api_name="/generate")
    next(iter(job))
    job.cancel()
    assert (
        client.predict(prompt="a red house", preset="draft", seed=1, api_name="/generate")[1]["timings"]["queue"] < 30
    )


def test_readme_curl_example_runs(server):
    script = re.findall(r"```bash\n(EVENT.+?)```", (ROOT / "README.md").read_text(), re.S)[0]
    script = script.replace("http://127.0.0.1:7860", server.url)
    answer = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert '"seed": 7' in answer.stdout
    assert "event: complete" in answer.stdout


def test_readme_example_runs(server, client):
    code = re.search(r"```python\n(.+?)```", (ROOT / "README.md").read_text(), re.S).group(1)
    names: dict = {}
    exec(code.replace("http://127.0.0.1:7860", server.url), names)
    assert read_info(names["picture"]) == names["info"]
