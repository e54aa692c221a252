"""Two pictures of one prompt side by side: two presets, or two seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from accel_ui.manager import PipelineManager
from accel_ui.requests import MAX_PROMPT_CHARACTERS, Done, Failed, RequestError
from accel_ui.ui import words
from accel_ui.ui.runs import Runs
from accel_ui.ui.visitor import client_of


class Compare:
    """Components and handlers of the tab."""

    def __init__(self, manager: PipelineManager, runs: Runs, choices: list[tuple[str, str]], quiet: dict[str, Any]):
        self._manager, self._runs = manager, runs
        self.prompt = gr.Textbox(
            label="Prompt for both",
            placeholder="Describe a picture",
            lines=2,
            max_length=MAX_PROMPT_CHARACTERS,
            elem_id="compare-prompt",
        )
        with gr.Row():
            self.go = gr.Button("Compare", variant="primary", size="lg", scale=3, elem_id="compare")
            self.stop = gr.Button("Stop", size="lg", scale=1, min_width=90, interactive=False, elem_id="compare-stop")
        ids = [preset for _, preset in choices] or [None]
        with gr.Row():
            self.left = self._side("left", choices, ids[0], "random")
            self.right = self._side("right", choices, ids[-1], "the same")
        (self.left_preset, self.left_seed, left_picture, left_said) = self.left
        (self.right_preset, self.right_seed, right_picture, right_said) = self.right
        self.go.click(
            self.compare,
            [self.prompt, self.left_preset, self.left_seed, self.right_preset, self.right_seed],
            [left_picture, left_said, right_picture, right_said, self.go, self.stop],
            concurrency_limit=None,
            show_progress="hidden",
            api_visibility="private",
        )
        self.stop.click(self._stop, None, self.stop, **quiet)

    @staticmethod
    def _side(name: str, choices: list[tuple[str, str]], preset: str | None, seed: str) -> tuple[Any, ...]:
        with gr.Column(min_width=300):
            chosen = gr.Dropdown(choices, value=preset, label=f"Preset, {name}", elem_id=f"{name}-preset")
            number = gr.Textbox(label=f"Seed, {name}", placeholder=seed, elem_id=f"{name}-seed")
            picture = gr.Image(
                label=f"Picture, {name}", type="filepath", format="png", interactive=False, height=360,
                buttons=["download", "fullscreen"], elem_id=f"{name}-picture",
            )  # fmt: skip
            said = gr.HTML(elem_id=f"{name}-said")
        return chosen, number, picture, said

    def compare(
        self, prompt: str, left: str, left_seed: str, right: str, right_seed: str,
        request: gr.Request, profile: gr.OAuthProfile | None,
    ) -> Iterator[tuple[Any, ...]]:  # fmt: skip
        """Runs the left side, then the right one; the right seed is the left one's unless it is given."""
        session = f"compare-{request.session_hash}"
        idle = gr.update(interactive=True), gr.update(interactive=False)
        try:
            client = client_of(self._manager, request, profile)
            first = self._manager.request(prompt, left, (left_seed or "").strip() or "random")
            second = self._manager.request(prompt, right, (right_seed or "").strip() or first.seed)
        except RequestError as error:
            yield gr.skip(), words.failure(str(error)), gr.skip(), "", *idle
            return
        yield None, "", None, "", gr.update(interactive=False), gr.update(interactive=True)
        for side, wanted in enumerate((first, second)):
            ended = False
            for event in self._runs.follow(wanted, session, client):
                shown: list[Any] = [gr.skip()] * 4
                if isinstance(event, Done):
                    ended = True
                    shown[2 * side], shown[2 * side + 1] = str(event.result.paths[0]), words.timings(event.result)
                elif isinstance(event, Failed):
                    shown[2 * side + 1] = words.failure(event.reason)
                else:
                    shown[2 * side + 1] = words.progress(event)
                    shown[2 * side] = getattr(event, "preview", None) or gr.skip()
                yield *shown, gr.skip(), gr.skip()
            if not ended:
                break
        yield *[gr.skip()] * 4, *idle

    def _stop(self, request: gr.Request) -> Any:
        self._runs.stop(f"compare-{request.session_hash}")
        return gr.update(interactive=False)
