"""Capitals and punctuation mean nothing, also after saving and loading; unknown words do no harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.config import Run
from training.tokenizers import build_tokenizers, load_tokenizers, token_ids

PLAIN = "a red house on a green hill, under a starry night sky"


def test_the_same_seed_gives_the_same_tokenizers(small_run: Run, tmp_path: Path) -> None:
    build_tokenizers(tmp_path, small_run.seed)
    for name in ("tokenizer", "tokenizer_2"):
        again, first = ((folder / name / "tokenizer.json").read_text() for folder in (tmp_path, small_run.tokenizers))
        assert again == first


@pytest.mark.parametrize(
    "variant", [PLAIN.upper(), PLAIN.title(), PLAIN.capitalize(), f"{PLAIN}.", f"{PLAIN}!", f'"{PLAIN}"']
)
def test_t5_ignores_case_and_punctuation_after_reload(small_run: Run, tmp_path: Path, variant: str) -> None:
    for tokenizer, name in zip(load_tokenizers(small_run.tokenizers), ("tokenizer", "tokenizer_2"), strict=True):
        tokenizer.save_pretrained(tmp_path / name)
    _, t5 = load_tokenizers(tmp_path)
    assert token_ids(t5, [variant]) == token_ids(t5, [PLAIN])
    assert t5.unk_token_id not in t5(PLAIN).input_ids


def test_clip_ignores_case(small_run: Run) -> None:
    clip, _ = load_tokenizers(small_run.tokenizers)
    assert token_ids(clip, [PLAIN.upper()]) == token_ids(clip, [PLAIN])


def test_an_unknown_word_is_one_unknown_token(small_run: Run) -> None:
    _, t5 = load_tokenizers(small_run.tokenizers)
    ids = t5("a red qwxkjv house").input_ids
    assert ids.count(t5.unk_token_id) == 1
    assert len(ids) <= len(t5("a red house").input_ids) + 2
