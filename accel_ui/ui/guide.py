"""What the embedded model can draw, from its own card, and how to take another one."""

from __future__ import annotations

from accel_ui.loading import TINY_FOLDER

SECTIONS = ("What it draws", "What it cannot do")
ANOTHER_MODEL = (
    "For everything else take a real model: stop the server and start it with, for instance, "
    "`ACCEL_UI_MODEL=black-forest-labs/FLUX.2-klein-4B python app.py`."
)


def embedded_model_guide() -> str:
    """Markdown: two sections of the model card, without their headings, and a way out."""
    card = (TINY_FOLDER / "README.md").read_text(encoding="utf-8")
    sections = dict(part.split("\n", 1) for part in card.split("\n## ")[1:])
    return "\n\n".join([*(sections[name].strip() for name in SECTIONS), ANOTHER_MODEL])
