"""Many clients for a long time: right pictures, no graph, no leak. `--soak 1000` for the long run."""

from __future__ import annotations

import concurrent.futures
import hashlib
import time
from collections import Counter
from collections.abc import Iterator

import httpx
import psutil
import pytest
from gradio_client import Client
from PIL import Image

from conftest import PRESETS_FOR_THE_PAGE, Server

CLIENTS = 8
PATIENCE = 300  # seconds for one request
WISHES = [
    (prompt, preset, seed)
    for seed, prompt in enumerate(("a red house", "A sailboat on the sea at sunset"))
    for preset in ("square", "landscape", "portrait", "draft")
]


@pytest.fixture(scope="module")
def busy(warm_cache, tmp_path_factory) -> Iterator[Server]:
    """A server of its own, so that its memory and threads are those of this test alone."""
    folder = tmp_path_factory.mktemp("soak")
    (folder / "presets.toml").write_text(PRESETS_FOR_THE_PAGE)
    server = Server(
        folder, ACCEL_UI_PRESETS="presets.toml", ACCEL_UI_WARMUP="none", ACCEL_UI_CACHE_DIR=str(warm_cache),
        ACCEL_UI_DEVICE="cpu",
    )  # fmt: skip
    server.wait_for_port()
    yield server
    server.close()


def digest(path: str) -> str:
    with Image.open(path) as image:
        return hashlib.sha256(image.tobytes()).hexdigest()


def test_soak(busy: Server, pytestconfig: pytest.Config):
    count = pytestconfig.getoption("--soak")
    client = Client(busy.url, verbose=False)
    busy.wait_until_loaded(client)
    solo = {wish: digest(predict(client, *wish)) for wish in WISHES}

    def work(number: int, start: int, stop: int) -> Counter[str]:
        own, outcomes = Client(busy.url, verbose=False), Counter()
        for i in range(start + number, stop, CLIENTS):
            wish = WISHES[i % len(WISHES)]
            kind = {1: "cancelled", 5: "invalid", 9: "dropped", 13: "cancelled"}.get(i // CLIENTS % 20, "answered")
            if kind == "cancelled":
                job = own.submit(wish[0], "slow", wish[2], "", api_name="/generate")
                next(iter(job))
                job.cancel()
            elif kind == "invalid":
                with pytest.raises(Exception, match="no preset"):
                    predict(own, wish[0], "513x512", wish[2])
            elif kind == "dropped":
                drop(busy, wish)
            else:
                assert digest(predict(own, *wish)) == solo[wish], wish
            outcomes[kind] += 1
        return outcomes

    def round_of(start: int, stop: int) -> Counter[str]:
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            return sum(pool.map(lambda number: work(number, start, stop), range(CLIENTS)), Counter())

    first = min(100, count // 2)
    outcomes = round_of(0, first)
    before = settled(busy)
    outcomes += round_of(first, count)
    after, status = settled(busy), client.predict(api_name="/status")
    print(
        f"{dict(outcomes)}; memory {before[0] / 1e6:.0f} -> {after[0] / 1e6:.0f} MB, threads {before[1]} -> {after[1]}"
    )
    assert outcomes.total() == count
    assert status["graphs_compiled"] == 0
    assert status["waiting"] == 0
    assert after[0] < 1.05 * before[0]
    assert after[1] <= before[1]
    assert "Traceback" not in busy.log.read_text()


def predict(client: Client, prompt: str, preset: str, seed: int) -> str:
    return client.submit(prompt, preset, seed, "", api_name="/generate").result(PATIENCE)[0]


def drop(server: Server, wish: tuple[str, str, int]) -> None:
    """Asks, reads the first event and hangs up."""
    with httpx.Client(base_url=server.url, timeout=60) as web:
        posted = web.post("/gradio_api/call/generate", json={"data": [wish[0], "slow", wish[2], ""]})
        with web.stream("GET", f"/gradio_api/call/generate/{posted.json()['event_id']}") as stream:
            next(stream.iter_lines())


def settled(server: Server) -> tuple[int, int]:
    """Bytes and threads of the server once nothing runs and its idle threads have ended."""
    process, client = psutil.Process(server.process.pid), Client(server.url, verbose=False)
    while client.predict(api_name="/status")["waiting"]:
        time.sleep(0.2)
    time.sleep(12)  # anyio ends a thread that was idle for ten seconds
    predict(client, *WISHES[0])
    return process.memory_info().rss, process.num_threads()
