"""The page: layout, and the handlers that feed it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from accel_ui.catalogue import CATALOGUE, GENERAL_EXAMPLES
from accel_ui.jobs import Job
from accel_ui.manager import PipelineManager
from accel_ui.requests import MAX_PROMPT_CHARACTERS, Done, Failed, GenerationResult, RequestError, random_seed
from accel_ui.ui import words
from accel_ui.ui.api import add_api

REFRESH = 1.0  # seconds between two looks at the manager's state


def build_page(manager: PipelineManager) -> gr.Blocks:
    """The whole interface around `manager`, which may still be loading."""
    with gr.Blocks(title="Accel UI", analytics_enabled=False, delete_cache=(3600, 86_400)) as demo:
        add_api(manager)  # first: its endpoint names are promised
        _Page(manager).build()
    return demo


class _Page:
    """Components and handlers of one page; the jobs of its visitors, by session, for the Stop button."""

    def __init__(self, manager: PipelineManager):
        self.manager = manager
        self.jobs: dict[str, Job] = {}

    def build(self) -> None:
        """Lays out the page and connects it."""
        known = CATALOGUE.get(self.manager.settings.model)
        title = known.title if known else self.manager.settings.model
        status = self.manager.status()
        gr.HTML(f'<div class="au-header"><h1>Accel UI</h1><span class="au-muted">{words.escape(title)}</span></div>')
        self.status = gr.HTML(words.status_line(status), elem_id="status")
        with gr.Tab("Create"), gr.Row(equal_height=False):
            with gr.Column(scale=4, min_width=300):
                self._controls(known.examples if known else GENERAL_EXAMPLES)
            with gr.Column(scale=5, min_width=300, elem_id="result"):
                self._result()
        with gr.Tab("Device"):
            self.machine = gr.HTML(words.machine(status), elem_id="machine")
        self._connect()

    def _controls(self, examples: tuple[str, ...]) -> None:
        self.prompt = gr.Textbox(
            label="Prompt",
            placeholder="Describe a picture",
            lines=3,
            max_length=MAX_PROMPT_CHARACTERS,
            elem_id="prompt",
        )
        with gr.Row():
            self.go = gr.Button("Generate", variant="primary", size="lg", scale=3, elem_id="generate")
            self.stop = gr.Button("Stop", size="lg", scale=1, min_width=90, interactive=False, elem_id="stop")
        choices, default = self._choices()
        self.preset = gr.Radio(choices, value=default, label="Preset", elem_id="preset")
        self.states = gr.HTML(words.preset_states(self.manager.status()["presets"]), elem_id="preset-states")
        self.negative = gr.Textbox(
            label="Negative prompt", placeholder="What to avoid", lines=1, elem_id="negative",
            visible=self._uses_negative(default), max_length=MAX_PROMPT_CHARACTERS,
        )  # fmt: skip
        with gr.Row():
            self.seed = gr.Textbox(
                label="Seed",
                placeholder="random",
                info="Empty: another one each time",
                scale=4,
                min_width=120,
                elem_id="seed",
            )
            self.dice = gr.Button("⚄ New seed", size="md", scale=1, min_width=120, elem_id="dice")
        gr.Examples([[text] for text in examples], self.prompt, label="Try one of these")

    def _result(self) -> None:
        self.picture = gr.Image(
            label="Picture", type="filepath", format="png", interactive=False, height=480, elem_id="picture",
            buttons=["download", "fullscreen"],
        )  # fmt: skip
        self.more = gr.Gallery(label="All pictures of this run", visible=False, columns=4, height=160, elem_id="more")
        self.progress = gr.HTML(elem_id="progress")
        with gr.Accordion("Parameters", open=False):
            self.info = gr.JSON(show_label=False, elem_id="info")

    def _connect(self) -> None:
        outputs = [self.picture, self.more, self.progress, self.info, self.go, self.stop]
        gr.on(
            [self.go.click, self.prompt.submit],
            self.generate,
            [self.prompt, self.preset, self.seed, self.negative],
            outputs,
            concurrency_limit=None,  # the manager has the one queue
            show_progress="hidden",  # it would cover the picture
            api_visibility="private",
        )
        quiet = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
        self.stop.click(self.stop_run, None, self.stop, **quiet)
        self.dice.click(lambda: str(random_seed()), None, self.seed, **quiet)
        self.preset.change(
            lambda preset: gr.update(visible=self._uses_negative(preset)), self.preset, self.negative, **quiet
        )
        seen = gr.State("")
        gr.Timer(REFRESH).tick(
            self.refresh,
            [seen, self.preset],
            [seen, self.status, self.states, self.machine, self.preset, self.negative],
            **quiet,
        )

    # What the handlers need to know

    def _choices(self) -> tuple[list[tuple[str, str]], str | None]:
        presets = self.manager.presets
        return [(f"{p.label} · {p.summary}", p.id) for p in presets.values()], next(iter(presets), None)

    def _uses_negative(self, preset: str | None) -> bool:
        return preset in self.manager.presets and self.manager.uses_negative_prompt(preset)

    # Handlers

    def refresh(self, seen: str, preset: str | None) -> tuple[Any, ...]:
        """State lines every tick; the preset choices and the negative prompt when the model has come."""
        status = self.manager.status()
        lines = (words.status_line(status), words.preset_states(status["presets"]), words.machine(status))
        if seen == status["phase"]:
            return (gr.skip(), *lines, gr.skip(), gr.skip())
        choices, default = self._choices()
        value = preset if preset in self.manager.presets else default
        return (
            status["phase"],
            *lines,
            gr.update(choices=choices, value=value),
            gr.update(visible=self._uses_negative(value)),
        )

    def generate(
        self, prompt: str, preset: str, seed: str, negative: str, request: gr.Request
    ) -> Iterator[tuple[Any, ...]]:
        """One run: a tuple for every event."""
        try:
            job = self.manager.submit(
                self.manager.request(prompt, preset, (seed or "").strip() or "random", negative or "")
            )
        except RequestError as error:
            yield self._failed(str(error))
            return
        session = str(request.session_hash)
        self.jobs[session] = job
        try:
            for event in job.events():
                if isinstance(event, Done):
                    yield self._done(event.result)
                elif isinstance(event, Failed):
                    yield self._failed(event.reason)
                else:
                    running = (gr.update(interactive=False), gr.update(interactive=not job.stopped))
                    preview = getattr(event, "preview", None)
                    yield preview or gr.skip(), gr.skip(), words.progress(event), gr.skip(), *running
        finally:
            if self.jobs.get(session) is job:
                del self.jobs[session]

    def stop_run(self, request: gr.Request) -> Any:
        """Ends the run of this browser tab within a step."""
        job = self.jobs.get(str(request.session_hash))
        if job:
            job.stop()
        return gr.update(interactive=False)

    @staticmethod
    def _done(result: GenerationResult) -> tuple[Any, ...]:
        paths = [str(path) for path in result.paths]
        return (
            paths[0],
            gr.update(value=paths, visible=len(paths) > 1),
            words.timings(result),
            result.info(),
            gr.update(interactive=True),
            gr.update(interactive=False),
        )

    @staticmethod
    def _failed(reason: str) -> tuple[Any, ...]:
        return (
            gr.skip(),
            gr.skip(),
            words.failure(reason),
            gr.skip(),
            gr.update(interactive=True),
            gr.update(interactive=False),
        )
