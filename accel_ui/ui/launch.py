"""What `demo.launch` is given."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from accel_ui.health import probe_routes
from accel_ui.manager import PipelineManager
from accel_ui.ui.theme import CSS, make_theme

SPARE_THREADS = 40  # for everything but waiting requests: Gradio's own default
LARGEST_UPLOAD = "20mb"
# What Gradio raises, and the sentence to say; "" where its own is good.
MISUSE = {
    "is not a valid key-word argument": "",
    "object has no attribute 'filename'": "A part of the upload is no file: send files in the field `files`.",
}
SESSIONS = 1000  # kept in memory, 130 KB each; an API request without a session is one too. Gradio's default is 10,000

# Ctrl+Enter (or Command+Enter) generates from anywhere, Escape stops. For screen readers, the button that Gradio
# lays around a picture gets a name, and its sign for an empty picture a role.
ON_LOAD = """
() => {
  document.addEventListener("keydown", event => {
    const press = id => document.querySelector(id + ":not([disabled])")?.click();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); press("#generate"); }
    if (event.key === "Escape") press("#stop");
  });
  const label = () => {
    for (const button of document.querySelectorAll(".image-container button:not([aria-label])"))
      button.setAttribute("aria-label", "Show the picture in full");
    for (const empty of document.querySelectorAll(".empty[aria-label]:not([role])")) empty.setAttribute("role", "img");
  };
  new MutationObserver(label).observe(document.body, {childList: true, subtree: true});
  label();
}
"""


def misuse(request: Request, error: Exception) -> JSONResponse:
    """A program's mistake at which Gradio raises: no error of the server's."""
    for words, sentence in MISUSE.items():
        if words in str(error):
            return JSONResponse({"detail": sentence or str(error)}, 422)
    raise error


def launch_options(manager: PipelineManager) -> dict[str, Any]:
    """Keyword arguments for `gr.Blocks.launch`."""
    settings = manager.settings
    return {
        "theme": make_theme(),
        "css": CSS,
        "js": ON_LOAD,
        "app_kwargs": {
            "routes": probe_routes(manager),
            "exception_handlers": {TypeError: misuse, AttributeError: misuse},
        },
        "auth": settings.users or None,
        "allowed_paths": [str(settings.output_dir)],
        # What is blocked wins over what is allowed, so only where the caches lie among the pictures.
        "blocked_paths": [str(path) for path in [settings.cache_dir] if path.is_relative_to(settings.output_dir)],
        "max_file_size": LARGEST_UPLOAD,
        "max_threads": settings.max_queue + SPARE_THREADS,  # a waiting request holds a thread
        "strict_cors": True,
        "state_session_capacity": SESSIONS,
        "show_error": False,
        "quiet": settings.log == "json",
        "ssr_mode": False,  # Spaces turn it on
        "enable_monitoring": False,
        "run_history": False,
        "footer_links": ["api"],
    }
