"""From a served page to a clean end: SIGTERM and Ctrl-C finish the running picture first."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time

from accel_ui.manager import PipelineManager

log = logging.getLogger(__name__)

TIME_TO_FETCH = 2.0  # seconds between a last picture and the end of the server: the client downloads it


def listen_for_the_end() -> threading.Event:
    """An event that SIGTERM or Ctrl-C sets; a second signal ends the process at once. Call it in the main thread."""
    told = threading.Event()

    def on_signal(number: int, frame: object) -> None:
        if told.is_set():
            os._exit(128 + number)
        told.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    return told


def serve_until(told: threading.Event, manager: PipelineManager) -> None:
    """Blocks until `told` is set, then drains `manager`."""
    told.wait()
    log.info(
        "Shutting down: the running picture has %g s (ACCEL_UI_GRACE); a second Ctrl-C ends at once",
        manager.settings.grace,
    )
    if manager.drain():
        time.sleep(TIME_TO_FETCH)
