"""Serves the page and the API: `python app.py`, or `gradio app.py` while you edit the page."""

import sys
import threading

from accel_ui.environment import prepare_environment
from accel_ui.errors import UserError
from accel_ui.logs import configure_logging
from accel_ui.settings import load_settings
from accel_ui.torchrun import follow_rank_0, open_manager

try:
    settings = load_settings()  # before gradio and torch: both read the environment when they are imported
except UserError as error:
    sys.exit(str(error))
configure_logging(settings.log)
prepare_environment(settings.cache_dir)
follow_rank_0(settings)

from accel_ui.ui.stubs import no_type_stubs  # noqa: E402

with no_type_stubs():
    import gradio as gr

if gr.NO_RELOAD:
    manager = open_manager(settings)
    core = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "accel_ui"}
else:
    sys.modules.update(core)  # Gradio dropped all modules, but the manager stays, and so must the classes of its events

from accel_ui.serving import listen_for_the_end, serve_until  # noqa: E402
from accel_ui.ui.launch import launch_options  # noqa: E402
from accel_ui.ui.page import build_page  # noqa: E402

demo = build_page(manager)


def serve(demo: gr.Blocks) -> None:
    """Answers the port, then loads the model behind it: importing torch first would hold it up."""
    if manager.loads_before_serving:
        manager.start()
    alone = threading.current_thread() is threading.main_thread()  # reload mode runs this file in another thread
    told = listen_for_the_end() if alone else None
    demo.launch(**launch_options(manager), prevent_thread_lock=True)
    manager.start()
    if told:
        serve_until(told, manager)
        demo.close()


if __name__ == "__main__":
    serve(demo)
