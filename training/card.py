"""The model card: README.md of the export, from a template, the vocabulary and the measured report."""

from __future__ import annotations

import json
from pathlib import Path
from string import Template

from .config import FORMATS, TEXT_LENGTH
from .prompts import EXAMS
from .world import spec

TEMPLATE = Path(__file__).with_name("card_template.md")
# What the project set out to reach at the default setting, in per cent.
TARGETS = {
    "time": 99,
    "terrain": 99,
    "one object": 97,
    "held-out colour": 90,
    "held-out scene": 95,
    "two objects": 75,
    "three factors": 85,
}
PSNR_TARGET = 32
SKY_NAMES = {"body": "moon", "aurora": "northern lights"}


def write_card(report_file: Path, history: str, export: Path) -> None:
    report = json.loads(report_file.read_text())
    (export / "README.md").write_text(model_card(report, history))


def model_card(report: dict, history: str) -> str:
    """The card's text; `history` says how the weights came about."""
    accuracy, settings, vae = report["judge on held-out real scenes"], report["settings"], report["vae"]
    worst = min(accuracy, key=accuracy.__getitem__)
    held_out_terrains = (f"{kind} / {terrain}" for terrain, kind in sorted(spec.HELD_OUT_TERRAINS))
    return Template(TEMPLATE.read_text()).substitute(
        steps=settings[0]["setting"]["steps"],
        guidance=settings[0]["setting"]["guidance"],
        text_length=TEXT_LENGTH,
        sizes=", ".join(f"{name} {width}x{height}" for name, (width, height) in FORMATS.items()),
        times=", ".join(spec.TIMES),
        objects=", ".join(spec.KINDS),
        colors=", ".join(spec.COLORS),
        tree_colors=", ".join(spec.TREE_COLORS),
        terrain_rows="\n".join(f"| {place} | {', '.join(kinds)} |" for place, kinds in spec.KINDS_ON.items()),
        questions=sum(exam.count for exam in EXAMS),
        judge_worst=f"{100 * accuracy[worst]:.1f}",
        judge_worst_factor=worst,
        numbers=_numbers(settings),
        frechet_real=settings[0]["frechet of real scenes"],
        held_out_one_in=spec.HELD_OUT_ONE_IN,
        held_out_colors=", ".join(f"{color} {kind}" for kind, color in sorted(spec.HELD_OUT_COLORS)),
        held_out_terrains=", ".join(held_out_terrains),
        psnr_target=PSNR_TARGET,
        psnr_decode=f"{vae['decode']:.1f}",
        psnr_round_trip=f"{vae['encode and decode']:.1f}",
        history=history,
    )


def _numbers(settings: list[dict]) -> str:
    """A table: one row a measure, one column a setting."""
    heads = [_in_words(**entry["setting"]) for entry in settings]
    rows = [["", "target", *heads], ["---"] * (2 + len(heads))]
    for name in ("time", "terrain"):
        rows.append([name, f"{TARGETS[name]}", *(_percent(entry["overall"][name]) for entry in settings)])
    for exam in EXAMS:
        measure = "all" if exam.name == "three factors" else "objects"
        values = [_percent(entry["exams"][exam.name][measure]) for entry in settings]
        rows.append([exam.name, f"{TARGETS[exam.name]}", *values])
    for name in settings[0]["named in the sky"]:
        values = [_percent(entry["named in the sky"][name]) for entry in settings]
        rows.append([f"named in the sky: {SKY_NAMES.get(name, name)}", "", *values])
    rows.append(["Frechet distance", "", *(f"{entry['frechet']:.1f}" for entry in settings)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _in_words(steps: int, guidance: float) -> str:
    return f"{steps} steps, guidance {guidance}" if guidance > 1 else f"{steps} steps, no guidance"


def _percent(value: float) -> str:
    return f"{value:.1f}"
