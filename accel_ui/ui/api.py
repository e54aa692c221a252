"""The public endpoints: generate, presets, status.

Gradio reads annotations and docstrings of these functions for its API page, so no postponed annotations here.
"""

from collections.abc import Callable
from typing import Any

import gradio as gr
from gradio.data_classes import FileData

from accel_ui.errors import UserError
from accel_ui.manager import PipelineManager
from accel_ui.requests import Compiling, Done, Failed, Queued, Step
from accel_ui.ui.visitor import client_of


def add_api(manager: PipelineManager) -> None:
    """Adds the endpoints to the Blocks being built."""

    # The annotation is that of each yielded value: Gradio takes the endpoint's types from it.
    def generate(
        request: gr.Request,
        profile: gr.OAuthProfile | None,
        prompt: str = "",  # a call without one gets the sentence about empty prompts
        preset: str | None = None,
        seed: int | str = "random",
        negative_prompt: str = "",
    ) -> tuple[FileData | None, dict[str, Any]]:
        """Make one picture. Streams progress; the last message holds the picture.

        Args:
            prompt: what to draw, at most 16,000 characters.
            preset: id of a preset, see /presets; left out, the first one.
            seed: whole number from 0 to 2**63 - 1, or "random".
            negative_prompt: what to avoid, where the preset uses guidance.

        Returns:
            picture: a PNG that carries its parameters.
            info: every parameter, the seed used, the timings in seconds, and the graphs compiled in this call.
        """
        try:
            client = client_of(manager, request, profile)
            for event in manager.generate(manager.request(prompt, preset, seed, negative_prompt), client):
                if isinstance(event, Failed):
                    raise UserError(event.reason)
                if isinstance(event, Done):
                    yield picture_file(event.result.paths[0]), event.result.info()
                else:
                    yield None, _progress(event)
        except UserError as error:
            raise gr.Error(str(error), print_exception=False) from None

    def presets() -> list[dict[str, Any]]:
        """The presets of the loaded model with their numbers and states.

        Returns:
            presets: id, label, height, width, steps, guidance_scale, ..., state (ready, cold, compiling, eager) and why.
        """
        return manager.status()["presets"]

    def status() -> dict[str, Any]:
        """What the server is doing and what it decided.

        Returns:
            status: phase, model, device, dtype, mode, decisions with reasons, placement, presets, the ledger of
            compiled graphs, graphs_compiled, runs, runs_since_last_graph.
        """
        return manager.status()

    for function, queue in ((generate, True), (presets, False), (status, False)):
        _add(function, queue)


def _add(function: Callable, queue: bool) -> None:
    # The manager has the one queue for the accelerator; Gradio's would hide the position and swallow Stop.
    gr.api(function, api_name=function.__name__, queue=queue, concurrency_limit=None)


def picture_file(path) -> FileData:
    """A file that Gradio's clients download."""
    return FileData(path=str(path), orig_name=path.name, mime_type="image/png")


def _progress(event) -> dict[str, Any]:
    """An event in the middle of a run, as plain data."""
    names = {Queued: "queued", Compiling: "compiling", Step: "step"}
    values = {name: value for name, value in vars(event).items() if name != "preview"}
    return {"event": names.get(type(event), type(event).__name__.lower()), **values}
