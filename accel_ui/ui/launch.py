"""What `demo.launch` is given."""

from __future__ import annotations

from typing import Any

from accel_ui.settings import Settings
from accel_ui.ui.theme import CSS, make_theme

SPARE_THREADS = 40  # for everything but waiting requests: Gradio's own default


def launch_options(settings: Settings) -> dict[str, Any]:
    """Keyword arguments for `gr.Blocks.launch`."""
    return {
        "theme": make_theme(),
        "css": CSS,
        "allowed_paths": [str(settings.output_dir)],
        "max_threads": settings.max_queue + SPARE_THREADS,  # a waiting request holds a thread
        "show_error": False,
        "enable_monitoring": False,
        "run_history": False,
        "footer_links": ["api"],
    }
