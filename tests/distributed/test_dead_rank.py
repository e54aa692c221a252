"""A process that dies in the middle of a run: the page says so, torchrun starts them again, and nothing is left behind."""

from __future__ import annotations

import psutil

from .studio import PATIENCE, TorchrunServer, draw


def test_dead_rank_is_said_restarted_and_leaves_nothing_behind(open_page, tmp_path):
    server = TorchrunServer(tmp_path, "flux", 2, "--max-restarts", "1", ACCEL_UI_MODE="eager")
    try:
        client = server.connect()
        page = open_page(server.url)
        first = server.ranks()
        job = client.submit("a red house", "slow", 0, api_name="/generate")
        while not any(info and info.get("event") == "step" for _, info in job.outputs()):
            assert not job.done()
        first[1].kill()
        page.wait_for_selector("#status >> text=/One of the processes that share this model has ended/")
        psutil.wait_procs(first.values(), PATIENCE)

        draw(server.connect(), "a red house")
        assert server.ranks()[0].pid != first[0].pid

        second = list(server.ranks().values())
        server.process.kill()
        _, alive = psutil.wait_procs(second, PATIENCE)
        assert not alive
    finally:
        server.close()
