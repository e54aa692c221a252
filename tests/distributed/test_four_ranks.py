"""FLUX.2 on four devices, used from a browser: pictures, Stop, and the end by SIGTERM."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import numpy as np
import pytest
from gradio_client import Client

from .studio import LEVELS, TorchrunServer, draw, drawn_alone, levels, one_process


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[TorchrunServer]:
    folder = tmp_path_factory.mktemp("four")
    server = TorchrunServer(folder, "klein-4-heads", 4, ACCEL_UI_MODE="eager")
    yield server
    server.close()


@pytest.fixture(scope="module")
def client(server) -> Client:
    return server.connect()


def test_page_draws_the_picture_of_one_process(client, open_page, tmp_path):
    page = open_page(client.src)
    page.fill("#seed input, #seed textarea", "7")
    page.fill("#prompt textarea", "a red house")
    page.click("#generate")
    page.wait_for_selector("text=seed 7")
    with page.expect_download() as download:
        page.locator("#picture button[aria-label='Download'], #picture a[download] button").first.click()
    with one_process(tmp_path, "klein-4-heads") as alone:
        expected = drawn_alone(alone, "a red house", "square", 7)
    assert np.abs(levels(download.value.path()) - expected).max() <= LEVELS
    page.click("role=tab[name='Device']")
    page.wait_for_selector("text=/torchrun started 4 processes; each has 1 of the 4 attention heads/")


def test_stop_ends_the_run_in_every_rank(client, open_page):
    page = open_page(client.src)
    page.locator("#preset label", has_text="Slow").click()
    page.fill("#prompt textarea", "a red house")
    page.click("#generate")
    page.wait_for_selector("text=/Step [1-9][0-9]* of 500/")
    page.click("#stop")
    page.wait_for_selector("#progress >> text=Stopped.")
    first, _ = draw(client, "a red house", seed=1)
    second, _ = draw(client, "a red house", seed=1)
    assert (first == second).all()


def test_sigterm_in_a_run_ends_every_rank_cleanly(client, server):
    job = client.submit("a red house", "slow", 0, api_name="/generate")
    while not any(info and info.get("event") == "step" for _, info in job.outputs()):
        assert not job.done()
    server.ranks()[0].send_signal(signal.SIGTERM)
    assert server.end() == 0  # which torchrun says when all ranks say it
    assert "Traceback" not in server.log.read_text()
