"""FLUX compiled for two devices: pictures, graphs, and runs that fail."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from gradio_client import Client

from . import faults
from .studio import LEVELS, TorchrunServer, draw, drawn_alone, levels, one_process

WANTED = [("a red house", 0), ("雪山 🏔️", 7), ("word " * 2000, 1)]


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[TorchrunServer]:
    server = TorchrunServer(tmp_path_factory.mktemp("two"), "flux", 2, ACCEL_UI_WARMUP="default")
    yield server
    server.close()


@pytest.fixture(scope="module")
def client(server) -> Client:
    return server.connect()


def test_pictures_are_those_of_one_process(client, tmp_path):
    with one_process(tmp_path, "flux") as alone:
        for prompt, seed in WANTED:
            together, expected = draw(client, prompt, seed=seed)[0], drawn_alone(alone, prompt, "square", seed)
            assert np.abs(together - expected).max() <= LEVELS
            assert expected.std() > 10 * LEVELS


def test_each_rank_has_one_graph_a_component(client):
    status = client.predict(api_name="/status")
    made = sorted((row["rank"], row["preset"], row["target"], row["graphs"]) for row in status["ledger"])
    assert made == [(rank, "square", target, 1) for rank in (0, 1) for target in ("transformer", "vae")]
    assert status["graphs_by_rank"] == [2, 2]
    decisions = {row["subject"]: row for row in status["decisions"]}
    assert decisions["devices"]["value"] == "2"
    assert decisions["kept graphs"]["value"] == "none"


def test_run_that_fails_in_every_rank_is_followed_by_one_that_works(client):
    before, _ = draw(client, "a red house")
    with pytest.raises(Exception, match="a reason of the program's own"):
        draw(client, faults.EVERYWHERE)
    after, info = draw(client, "a red house")
    assert (after == before).all()
    assert info["graphs_compiled"] == 0


def test_requests_that_come_together_get_their_own_pictures(client):
    seeds = range(4)
    alone = [draw(client, "a tent", "square", seed)[0] for seed in seeds]
    jobs = [client.submit("a tent", "square", seed, api_name="/generate") for seed in seeds]
    together = [levels(job.result()[0]) for job in jobs]
    assert all((one == other).all() for one, other in zip(alone, together, strict=True))
    assert client.predict(api_name="/status")["graphs_by_rank"] == [2, 2]


def test_run_that_fails_in_one_rank_alone_ends_them_all(client, server):
    """The other ranks wait for it in the middle of a step, where nothing can wake them."""
    with pytest.raises(Exception, match="processes that share this model has ended"):
        draw(client, faults.IN_RANK_1)
    assert server.end() != 0
    assert "fails in rank 1" in server.log.read_text()
