"""The model card can be written from a report, and says where a target stands."""

from __future__ import annotations

from training.card import model_card
from training.prompts import EXAMS


def test_card_shows_targets_next_to_what_was_reached() -> None:
    measured = {"objects": 61.5, "all": 50.0}
    entry = {
        "setting": {"steps": 8, "guidance": 2.0},
        "overall": {"time": 98.2, "terrain": 97.0},
        "exams": {exam.name: measured for exam in EXAMS},
        "named in the sky": {"body": 90.0, "rain": 40.0},
        "frechet": 3.2,
        "frechet of real scenes": 0.5,
    }
    report = {
        "judge on held-out real scenes": {"time": 1.0, "left kind": 0.985},
        "vae": {"decode": 32.4, "encode and decode": 30.1},
        "settings": [entry],
    }
    text = model_card(report, "By hand.")
    assert "| two objects | 75 | 61.5 |" in text
    assert "98.5 %" in text
    assert "$" not in text
