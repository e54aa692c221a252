"""The Device tab: what was decided and why, the graphs, the last runs."""

from __future__ import annotations

from typing import Any

import gradio as gr
import pandas as pd

from accel_ui.manager import PipelineManager
from accel_ui.ui import words


class Device:
    """Components and handlers of the tab."""

    def __init__(self, manager: PipelineManager, choices: list[tuple[str, str]]):
        self._manager = manager
        self.machine = gr.HTML(words.machine(manager.status()), elem_id="machine")
        self.plot = gr.BarPlot(
            _frame([]), x="run", y="seconds", color="stage", title="The last runs, seconds by stage", height=240, visible=False,
            elem_id="plot",
        )  # fmt: skip
        with gr.Row():
            default = choices[0][1] if choices else None
            self.preset = gr.Dropdown(
                choices, value=default, label="Compile a preset now", scale=3, elem_id="to-compile"
            )
            self.compile = gr.Button("Compile", scale=1, min_width=120, elem_id="compile")
        self.said = gr.HTML(elem_id="compile-said")

    def connect(self, quiet: dict[str, Any]) -> None:
        """Events."""
        self.compile.click(self.compile_now, self.preset, self.said, **quiet)

    def compile_now(self, preset: str | None) -> str:
        """Puts a preset into the line of those to compile."""
        return words.notice(self._manager.compile_soon(preset))

    @staticmethod
    def plotted(recent: list[dict[str, Any]]) -> Any:
        """The plot of the last runs; hidden while there are none."""
        return gr.update(value=_frame(recent), visible=bool(recent))


def _frame(recent: list[dict[str, Any]]) -> pd.DataFrame:
    rows = [
        {"run": f"{row['run']} {row['preset']}", "stage": stage, "seconds": seconds}
        for row in recent
        for stage, seconds in row["timings"].items()
        if stage != "total"
    ]
    return pd.DataFrame(rows, columns=["run", "stage", "seconds"])
