"""The page: header, tabs, and the clock that keeps them true."""

from __future__ import annotations

from typing import Any

import gradio as gr

from accel_ui.catalogue import CATALOGUE, GENERAL_EXAMPLES
from accel_ui.manager import PipelineManager
from accel_ui.privacy import public
from accel_ui.ui import words
from accel_ui.ui.api import add_api
from accel_ui.ui.compare import Compare
from accel_ui.ui.create import Create
from accel_ui.ui.device import Device
from accel_ui.ui.runs import Runs

# Events in Gradio's own line, which they leave at once. On ZeroGPU its default is 1.
MOST_EVENTS = 1000
QUEUE_LOOKS = 0.01  # seconds between two looks of Gradio's queue; its own 0.001 costs a tenth of a core while idle
REFRESH = 1.0  # seconds between two looks at the manager's state

# Options of the events that run nothing: they must not wait behind a run, nor be part of the API.
QUIET = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}


def build_page(manager: PipelineManager) -> gr.Blocks:
    """The whole interface around `manager`, which may still be loading."""
    with gr.Blocks(title="Accel UI", analytics_enabled=False, delete_cache=(3600, 86_400)) as demo:
        add_api(manager)  # first: its endpoint names are promised
        _Page(manager).connect(demo)
    demo.queue(max_size=MOST_EVENTS)
    demo._queue.sleep_when_free = QUEUE_LOOKS
    return demo


class _Page:
    def __init__(self, manager: PipelineManager):
        self._manager = manager
        known, runs, choices = CATALOGUE.get(manager.settings.model), Runs(manager), self._choices()
        title = known.title if known else public(manager.settings.model)
        if manager.settings.signs_in_at_hub:
            gr.LoginButton(size="sm", elem_id="sign-in")
        gr.HTML(f'<div class="au-header"><h1>Accel UI</h1><span class="au-muted">{words.escape(title)}</span></div>')
        status = manager.status()
        self.status = gr.HTML(words.status_line(status), elem_id="status")
        self.retry = gr.Button("Try again", size="sm", visible=manager.can_retry, elem_id="retry")
        with gr.Tab("Create"):
            self.create = Create(manager, runs, choices, known.examples if known else GENERAL_EXAMPLES)
        with gr.Tab("Compare"):
            self.compare = Compare(manager, runs, choices, QUIET)
        with gr.Tab("Device"):
            self.device = Device(manager, choices)

    def connect(self, demo: gr.Blocks) -> None:
        """Events of the tabs, and the clock."""
        self.create.connect(demo, QUIET)
        self.device.connect(QUIET)
        self.retry.click(self._manager.retry, None, None, **QUIET)
        seen, drawn = gr.State(""), gr.State(-1)
        always = [self.status, self.create.states, self.device.machine]
        once = [
            self.retry,
            self.create.preset,
            self.create.negative,
            self.device.preset,
            self.compare.left_preset,
            self.compare.right_preset,
        ]
        gr.Timer(REFRESH).tick(
            self.refresh, [seen, drawn, self.create.preset], [seen, drawn, *always, self.device.plot, *once], **QUIET
        )

    def _choices(self) -> list[tuple[str, str]]:
        return [(f"{preset.label} · {preset.summary}", preset.id) for preset in self._manager.presets.values()]

    def refresh(self, seen: str, drawn: int, preset: str | None) -> tuple[Any, ...]:
        """State lines every tick; the plot after a run; the preset choices when the model has come."""
        status = self._manager.status()
        lines = (words.status_line(status), words.preset_states(status["presets"]), words.machine(status))
        plot = gr.skip() if drawn == status["runs"] else self.device.plotted(status["recent"])
        if seen == status["phase"]:
            return seen, status["runs"], *lines, plot, *[gr.skip()] * 6
        choices = self._choices()
        ids = [id for _, id in choices]
        value = preset if preset in ids else next(iter(ids), None)
        negative = gr.update(visible=self.create.uses_negative(value))
        first, last = (gr.update(choices=choices, value=id) for id in (value, ids[-1] if ids else None))
        retry = gr.update(visible=self._manager.can_retry)
        return status["phase"], status["runs"], *lines, plot, retry, first, negative, first, first, last
