"""The reading exercise: captions with their answers, and a T5 that learns from them which words belong together."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
import torch

from training import checkpoint, reading, stages
from training.config import Run
from training.judge import labels_of
from training.model import TinyFlux
from training.prompts import EXAMS, questions
from training.reading import READ, CaptionSource, train_reading
from training.schedule import Pace
from training.tokenizers import load_tokenizers
from training.world import Scene, SceneObject


@pytest.fixture
def source(small_run: Run) -> CaptionSource:
    return CaptionSource(load_tokenizers(small_run.tokenizers)[1], seed=0, rank=0)


@pytest.fixture
def model(small_run: Run) -> TinyFlux:
    torch.manual_seed(0)
    return TinyFlux(*load_tokenizers(small_run.tokenizers))


def test_captions_repeat_for_the_same_step_and_carry_their_answers(source: CaptionSource) -> None:
    (ids, answers), (again, _), (other, _) = source.draw(3, 4), source.draw(3, 4), source.draw(4, 4)
    assert torch.equal(ids, again)
    assert not torch.equal(ids, other)
    assert answers.shape == (4, len(READ))
    scene = Scene("day", "hills", objects=(SceneObject("house", "left", "red"), SceneObject("tree", "right", "green")))
    labels = labels_of(scene)
    _, told = source.batch([scene], ["a red house on the left and a green tree on the right"])
    assert told.tolist() == [[labels[name] for name in READ]]


def test_half_a_minute_of_reading_binds_colours_and_places(source: CaptionSource, model: TinyFlux) -> None:
    """Two objects with their colours and places, all six right: who does not know the order of words gets a tenth."""
    exam = [question for exam in EXAMS if exam.name == "two objects" for question in questions(exam)]
    ids, answers = source.batch([question.scene for question in exam], [question.prompt for question in exam])
    train_reading(model, source, Pace(total=300 * reading.BATCH), keep=False)
    with torch.no_grad():
        read = torch.stack([scores.argmax(1) for scores in model.read(ids)], 1)
    assert (share := (read == answers).all(1).float().mean()) > 0.5, share


@pytest.mark.parametrize(("keep", "least", "most"), [(True, 0.0, 0.1), (False, 0.1, 10.0)])
def test_words_that_a_transformer_knows_change_little(
    source: CaptionSource, model: TinyFlux, keep: bool, least: float, most: float
) -> None:
    ids, _ = source.draw(99, 8)
    with torch.no_grad():
        before = model.t5(input_ids=ids)[0]
    train_reading(model, source, Pace(total=12 * reading.BATCH), keep)
    with torch.no_grad():
        change = (model.t5(input_ids=ids)[0] - before).square().mean() / before.square().mean()
    assert least < change < most


def test_pictures_start_from_the_words_that_were_read(
    small_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "READING_CAPTIONS", 2 * reading.BATCH)
    run = dataclasses.replace(small_run, folder=tmp_path)
    shutil.copytree(small_run.tokenizers, run.tokenizers)
    run.data.symlink_to(small_run.data)
    plan = stages.Plan(run, tmp_path / "export", seconds=0, samples=1)
    stages.reading(plan)
    stages.flow(plan)
    words = checkpoint.load(run.flow_start_file)["average"]
    started = checkpoint.load(run.flow_file)["model"]
    assert all(torch.equal(started[name], words[name]) for name in words)
