"""A contact sheet: pictures for prompts that training never saw, with the prompts below them."""

from __future__ import annotations

import textwrap

from diffusers import DiffusionPipeline
from PIL import Image, ImageDraw

from .evaluate import Setting, generate
from .prompts import EXAMS, Question, questions

COLUMNS = 8
PICTURES = 48
CAPTION_HEIGHT, CAPTION_CHARACTERS, LINE_HEIGHT = 46, 24, 11
GAP = 4


def sheet_questions() -> list[Question]:
    """The first questions of every exam, most of them about two objects and single ones."""
    shares = (14, 14, 8, 6, 6)
    chosen = [questions(exam)[:share] for exam, share in zip(EXAMS, shares, strict=True)]
    return [question for part in chosen for question in part][:PICTURES]


def contact_sheet(pipe: DiffusionPipeline, setting: Setting, format_name: str = "square") -> Image.Image:
    prompts = [question.prompt for question in sheet_questions()]
    return arranged(generate(pipe, prompts, setting, format_name, seed=7), prompts)


def arranged(images: list[Image.Image], prompts: list[str]) -> Image.Image:
    """Pictures in rows, each over its prompt."""
    width, height = images[0].size
    cell_width, cell_height = width + GAP, height + CAPTION_HEIGHT
    rows = -(-len(images) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * cell_width, rows * cell_height), "white")
    draw = ImageDraw.Draw(sheet)
    for index, (image, prompt) in enumerate(zip(images, prompts, strict=True)):
        x, y = index % COLUMNS * cell_width, index // COLUMNS * cell_height
        sheet.paste(image, (x, y))
        for line, text in enumerate(textwrap.wrap(prompt, CAPTION_CHARACTERS)[:4]):
            draw.text((x + 1, y + height + line * LINE_HEIGHT), text, fill="black", font_size=9)
    return sheet
