"""Serves the page and the API: `python app.py`, or `gradio app.py` while you edit."""

from __future__ import annotations

import logging
import os
import sys

from accel_ui.errors import UserError
from accel_ui.settings import load_settings

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
logging.getLogger("httpx").setLevel(logging.WARNING)  # it prints every request of Gradio's own start-up
try:
    settings = load_settings()  # before gradio and torch: both read the environment when they are imported
except UserError as error:
    sys.exit(str(error))
if os.environ.get("SPACE_ID"):
    os.environ.setdefault("GRADIO_SERVER_NAME", "0.0.0.0")

from accel_ui.environment import prepare_environment  # noqa: E402

prepare_environment(settings.cache_dir)

import gradio as gr  # noqa: E402

from accel_ui.manager import PipelineManager  # noqa: E402
from accel_ui.ui.page import build_page  # noqa: E402
from accel_ui.ui.theme import CSS, make_theme  # noqa: E402

if gr.NO_RELOAD:  # reload mode runs this file again; the model stays
    manager = PipelineManager(settings)

demo = build_page(manager)

if __name__ == "__main__":
    demo.launch(
        theme=make_theme(),
        css=CSS,
        allowed_paths=[str(settings.output_dir)],
        max_threads=settings.max_queue + 40,  # a waiting request holds a thread
        show_error=False,
        enable_monitoring=False,
        run_history=False,
        footer_links=["api"],
        prevent_thread_lock=True,
    )
    manager.start()  # after the port answers: importing torch would hold it up
    demo.block_thread()
