"""The Create tab: prompt, preset and seed in; picture, progress and parameters out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

from accel_ui.catalogue import TINY
from accel_ui.manager import PipelineManager
from accel_ui.metadata import read_info
from accel_ui.requests import MAX_PROMPT_CHARACTERS, MAX_SEED, Done, Failed, GenerationResult, RequestError, random_seed
from accel_ui.ui import fields, words
from accel_ui.ui.gallery import Gallery
from accel_ui.ui.guide import embedded_model_guide
from accel_ui.ui.runs import Runs
from accel_ui.ui.share import COPY_LINK
from accel_ui.ui.visitor import client_of

MOST_PICTURES = 4  # in a row; each is a run of its own, so the batch size and the graph stay


class Create:
    """Components and handlers of the tab."""

    def __init__(self, manager: PipelineManager, runs: Runs, choices: list[tuple[str, str]], examples: tuple[str, ...]):
        self._manager, self._runs = manager, runs
        with gr.Row(equal_height=False):
            with gr.Column(scale=4, min_width=300):
                self._controls(choices, examples)
            with gr.Column(scale=5, min_width=300, elem_id="result"):
                self._result()
        self.gallery = Gallery(manager.history, shared=manager.settings.history == "shared")

    def _controls(self, choices: list[tuple[str, str]], examples: tuple[str, ...]) -> None:
        default = choices[0][1] if choices else None
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
        self.preset = gr.Radio(choices, value=default, label="Preset", elem_id="preset")
        self.states = gr.HTML(words.preset_states(self._manager.status()["presets"]), elem_id="preset-states")
        self.negative = gr.Textbox(
            label="Negative prompt", placeholder="What to avoid", lines=1, elem_id="negative",
            visible=self.uses_negative(default), max_length=MAX_PROMPT_CHARACTERS,
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
        self.count = gr.Radio(
            list(range(1, MOST_PICTURES + 1)),
            value=1,
            label="Pictures",
            info="One after another, each with the next seed",
            elem_id="count",
        )
        gr.Examples([[text] for text in examples], self.prompt, label="Try one of these")
        if self._manager.settings.model == TINY.id:
            with gr.Accordion("What this small model can draw", open=False, elem_id="guide"):
                gr.Markdown(embedded_model_guide())

    def _result(self) -> None:
        self.picture = gr.Image(
            label="Picture", type="filepath", format="png", interactive=False, height=480, elem_id="picture",
            buttons=["download", "fullscreen"],
        )  # fmt: skip
        self.more = gr.Gallery(label="Pictures of this run", visible=False, columns=4, height=170, elem_id="more")
        self.progress = gr.HTML(elem_id="progress")
        with gr.Row():
            self.share = gr.Button("Copy a link to this", size="sm", scale=0, min_width=170, elem_id="share")
            gr.HTML('<span id="share-said" class="au-muted" role="status"></span>')
        with gr.Accordion("Parameters", open=False):
            self.info = gr.JSON(show_label=False, elem_id="info")
        with gr.Accordion("From a picture", open=False, elem_id="from-picture"):
            self.dropped = gr.File(label="Drop a PNG made here, or by AUTOMATIC1111", file_types=["image"], height=110)
            self.restored = gr.HTML(elem_id="restored")

    def connect(self, demo: gr.Blocks, quiet: dict[str, Any]) -> None:
        """Events; `quiet` are the options of those that run nothing."""
        gallery, values = self.gallery, [self.prompt, self.negative, self.seed, self.preset]
        gr.on(
            [self.go.click, self.prompt.submit],
            self.generate,
            [self.prompt, self.preset, self.seed, self.negative, self.count, gallery.owner],
            [self.picture, self.more, self.progress, self.info, self.go, self.stop],
            concurrency_limit=None,  # the manager has the one queue
            show_progress="hidden",  # it would cover the picture
            api_visibility="private",
        ).then(gallery.refreshed, gallery.owner, gallery.pictures, **quiet)
        self.stop.click(self.stop_run, None, self.stop, **quiet)
        self.dice.click(lambda: str(random_seed()), None, self.seed, **quiet)
        self.preset.change(
            lambda preset: gr.update(visible=self.uses_negative(preset)), self.preset, self.negative, **quiet
        )
        self.dropped.upload(
            partial(fields.from_picture, self._manager), [self.dropped, self.preset], [*values, self.restored], **quiet
        )
        self.share.click(None, [self.info, self.prompt, self.preset, self.seed], None, js=COPY_LINK, **quiet)
        gallery.connect(demo, quiet).then(
            self.chosen,
            [gallery.chosen, self.preset],
            [self.picture, self.info, gallery.delete, *values, gallery.said],
            **quiet,
        )
        demo.load(self.open_link, None, [self.prompt, self.preset, self.seed, self.progress], **quiet)

    def uses_negative(self, preset: str | None) -> bool:
        """Whether the negative prompt is shown."""
        return preset in self._manager.presets and self._manager.uses_negative_prompt(preset)

    def generate(
        self, prompt: str, preset: str, seed: str, negative: str, count: int, owner: str | None,
        request: gr.Request, profile: gr.OAuthProfile | None,
    ) -> Iterator[tuple[Any, ...]]:  # fmt: skip
        """A tuple for every event of the runs; nothing while this page has a run already."""
        session = str(request.session_hash)
        with self._runs.turn(session) as mine:
            if not mine:
                yield tuple(gr.skip() for _ in range(6))
                return
            try:
                client = client_of(self._manager, request, profile)
            except RequestError as error:
                yield self._ended(words.failure(str(error)))
                return
            yield from self._generate(prompt, preset, seed, negative, count, owner, session, client)

    def _generate(
        self, prompt: str, preset: str, seed: str, negative: str, count: int, owner: str | None, session: str, client: str
    ) -> Iterator[tuple[Any, ...]]:  # fmt: skip
        paths: list[str] = []
        try:
            first = self._manager.request(prompt, preset, (seed or "").strip() or "random", negative or "")
            if count not in range(1, MOST_PICTURES + 1):
                raise RequestError(f"{count!r} pictures cannot be made in a row: choose 1 to {MOST_PICTURES}.")
        except RequestError as error:
            yield self._ended(words.failure(str(error)))
            return
        for number in range(count):
            wanted = replace(first, owner=self.gallery.keeper(owner), seed=(first.seed + number) % (MAX_SEED + 1))
            for event in self._runs.follow(wanted, session, client):
                if isinstance(event, Failed):
                    yield self._ended(words.failure(event.reason))
                    return
                if isinstance(event, Done):
                    paths += map(str, event.result.paths)
                    yield self._done(event.result, paths, more_to_come=number + 1 < count)
                else:
                    buttons = gr.update(interactive=False), gr.update(interactive=not self._runs.stopping(session))
                    preview = getattr(event, "preview", None)
                    yield preview or gr.skip(), gr.skip(), words.progress(event), gr.skip(), *buttons

    def stop_run(self, request: gr.Request) -> Any:
        """Ends the run of this browser tab within a step."""
        self._runs.stop(str(request.session_hash))
        return gr.update(interactive=False)

    def open_link(self, request: gr.Request) -> tuple[Any, ...]:
        """The fields as a shared link asks for them."""
        return fields.from_link(self._manager, request.query_params)

    def chosen(self, path: str, preset: str | None) -> tuple[Any, ...]:
        """A picture of the history: shown, with its parameters, and its values in the fields."""
        shown = (path or gr.skip(), read_info(path) if path else gr.skip(), gr.update(interactive=bool(path)))
        return (*shown, *fields.from_picture(self._manager, path, preset))

    @staticmethod
    def _done(result: GenerationResult, paths: list[str], *, more_to_come: bool) -> tuple[Any, ...]:
        buttons = gr.update(interactive=not more_to_come), gr.update(interactive=more_to_come)
        gallery = gr.update(value=paths, visible=len(paths) > 1)
        return str(result.paths[0]), gallery, words.timings(result), result.info(), *buttons

    @staticmethod
    def _ended(said: str) -> tuple[Any, ...]:
        return gr.skip(), gr.skip(), said, gr.skip(), gr.update(interactive=True), gr.update(interactive=False)
