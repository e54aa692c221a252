"""The history of one browser on the page: look, restore, delete."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import gradio as gr

from accel_ui.history import History
from accel_ui.ui import words

SHOWN = 24
EVERYBODY = "everybody"


class Gallery:
    """Components and handlers. The browser's word lives in its own storage; the server keeps only its hash.

    Attributes:
        owner: the word of this browser.
        chosen: path of the picture that was clicked.
    """

    def __init__(self, history: History, *, shared: bool):
        self._history, self._shared = history, shared
        # The key and the secret stay the same over restarts, or the browser would lose its history.
        self.owner = gr.BrowserState(None, storage_key="accel-ui-owner", secret="accel-ui")
        self.chosen = gr.State("")
        with gr.Accordion("Everybody's pictures" if shared else "Your pictures", open=True, elem_id="history"):
            self.pictures = gr.Gallery(
                show_label=False,
                columns=6,
                allow_preview=False,
                object_fit="cover",
                buttons=[],
                elem_id="pictures",
            )
            with gr.Row(visible=not shared):  # nobody deletes what is not theirs alone
                self.delete = gr.Button("Delete this one", size="sm", interactive=False, elem_id="delete")
                self.clear = gr.Button("Delete all", size="sm", elem_id="clear")
            self.said = gr.HTML(elem_id="history-said")

    def connect(self, demo: gr.Blocks, quiet: dict[str, Any]) -> Any:
        """Events; returns the one after which a picture is chosen."""
        after = [self.pictures, self.chosen, self.said, self.delete]
        self.delete.click(self.delete_one, [self.owner, self.chosen], after, **quiet)
        self.clear.click(self.delete_all, self.owner, after, **quiet)
        demo.load(self.open, self.owner, [self.owner, self.pictures], **quiet)
        return self.pictures.select(self.choose, self.owner, self.chosen, **quiet)

    def keeper(self, owner: str | None) -> str | None:
        """Whose history a picture of this browser goes to."""
        return EVERYBODY if self._shared else owner

    def open(self, owner: str | None) -> tuple[Any, ...]:
        """When the page is opened: a word for a new browser, and its pictures."""
        owner = owner if isinstance(owner, str) and owner else secrets.token_urlsafe(16)
        return owner, self.refreshed(owner)

    def refreshed(self, owner: str | None) -> Any:
        """The newest pictures."""
        return gr.update(value=[str(path) for path in self._history.pictures(self.keeper(owner))[:SHOWN]])

    def choose(self, owner: str | None, event: gr.SelectData) -> str:
        """The file behind a click, or nothing when it is gone."""
        pictures = self._history.pictures(self.keeper(owner))[:SHOWN]
        return str(pictures[event.index]) if isinstance(event.index, int) and event.index < len(pictures) else ""

    def delete_one(self, owner: str | None, chosen: str) -> tuple[Any, ...]:
        """Deletes the picture that was clicked."""
        deleted = self._history.delete(self.keeper(owner), Path(chosen).name)
        said = words.notice("The picture is deleted." if deleted else "That picture is gone already.")
        return self.refreshed(owner), "", said, gr.update(interactive=False)

    def delete_all(self, owner: str | None) -> tuple[Any, ...]:
        """Deletes every picture of this browser."""
        count = self._history.clear(self.keeper(owner))
        said = words.notice(f"{count} picture{'s are' if count != 1 else ' is'} deleted.")
        return self.refreshed(owner), "", said, gr.update(interactive=False)
