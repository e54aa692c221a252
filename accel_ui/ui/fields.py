"""Values for the prompt, negative prompt, seed and preset, from a picture or from a link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from accel_ui.manager import PipelineManager
from accel_ui.metadata import restore
from accel_ui.ui import words
from accel_ui.ui.share import read_link


def from_picture(manager: PipelineManager, path: str | None, preset: str | None) -> tuple[Any, ...]:
    """Prompt, negative prompt, seed, preset and a sentence, as the picture at `path` tells them; the rest stays."""
    if not path:
        return gr.skip(), gr.skip(), gr.skip(), gr.skip(), ""
    found = restore(path, manager.presets, manager.settings.model)
    said = " ".join(found.notices) or "Prompt, seed and preset are restored."
    if not found.prompt:
        return gr.skip(), gr.skip(), gr.skip(), gr.skip(), words.failure(said)
    seed = gr.skip() if found.seed is None else str(found.seed)
    return found.prompt, found.negative_prompt, seed, found.preset or preset, words.notice(said)


def from_link(manager: PipelineManager, query: Mapping[str, str]) -> tuple[Any, ...]:
    """Prompt, preset, seed and a sentence, as the link asks for them."""
    shared = read_link(query, manager.presets)
    fields = [gr.skip() if value is None else value for value in (shared.prompt, shared.preset, shared.seed)]
    return (*fields, words.failure(shared.notice) if shared.notice else gr.skip())
