"""The ends of a run that nobody asked for: the time limit, and a process that dies in the middle of it."""

from __future__ import annotations

import psutil
import pytest

from .studio import PATIENCE, TorchrunServer, draw

TIME_LIMIT = 8  # seconds, in which two busy processes do not draw the slow preset


def test_dead_rank_is_said_restarted_and_leaves_nothing_behind(open_page, tmp_path):
    limit = str(TIME_LIMIT)
    server = TorchrunServer(
        tmp_path, "flux", 2, "--max-restarts", "1", ACCEL_UI_MODE="eager", ACCEL_UI_TIME_LIMIT=limit
    )
    try:
        client = server.connect()
        with pytest.raises(Exception, match=f"ACCEL_UI_TIME_LIMIT allows {TIME_LIMIT} s"):
            draw(client, "a red house", "slow")
        draw(client, "a red house")

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
