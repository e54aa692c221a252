"""`gradio app.py`: the page follows the editor, the model is loaded once."""

from __future__ import annotations

import os
import shutil
import sys
import time
from urllib.error import HTTPError

from gradio_client import Client

from conftest import ROOT, Server


class ReloadServer(Server):
    """`gradio app.py` in a copy of the project that can be edited."""

    command = (sys.executable, "-c", "from gradio.cli import cli; cli()", "app.py")


def made_after_the_reload(server: Server) -> str:
    """A picture; asked for again while Gradio still exchanges the page's events."""
    for attempt in range(10):
        try:
            client = Client(server.url, verbose=False)
            return client.predict(prompt="a house", preset="draft", seed=1, api_name="/generate")[0]
        except Exception:
            if attempt == 9:
                raise
            time.sleep(1)


def shows(server: Server, text: str) -> bool:
    """Whether the page has it; while Gradio exchanges the page, it may answer 500."""
    try:
        return text in server.page()
    except HTTPError:
        return False


def test_edited_page_is_shown_and_the_model_stays(tmp_path):
    shutil.copy(ROOT / "app.py", tmp_path)
    shutil.copytree(ROOT / "accel_ui", tmp_path / "accel_ui", ignore=shutil.ignore_patterns("__pycache__"))
    server = ReloadServer(tmp_path, ACCEL_UI_CACHE_DIR=str(tmp_path / "cache"), ACCEL_UI_MODE="eager")
    try:
        server.wait_for_port()
        client = Client(server.url, verbose=False)
        server.wait_until_loaded(client)
        client.predict(prompt="a red house", preset="draft", seed=1, api_name="/generate")
        page = tmp_path / "accel_ui" / "ui" / "create.py"
        page.write_text(page.read_text().replace("New seed", "Another seed"))
        end = time.monotonic() + 180
        while not shows(server, "Another seed"):
            assert time.monotonic() < end, server.log.read_text()
            time.sleep(0.2)
        picture = made_after_the_reload(server)
        assert os.path.getsize(picture) > 1000
        assert Client(server.url, verbose=False).predict(api_name="/status")["runs"] == 2
        assert server.log.read_text().count("tiny is loaded") == 1
    finally:
        server.close()
