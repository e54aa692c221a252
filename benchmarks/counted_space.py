"""The usual demo app with one more endpoint: how many graphs Dynamo has made so far."""

from __future__ import annotations

import gradio as gr
from torch._dynamo.utils import counters

from benchmarks.usual_space import demo


def graphs() -> int:
    return counters["stats"]["unique_graphs"]


if __name__ == "__main__":
    with demo:
        gr.api(graphs, api_name="graphs", queue=False)
    demo.launch()
