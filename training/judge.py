"""A small classifier that reads the factors of a scene from a picture; trained on real scenes only.

It judges generated pictures: which sky, which terrain, and what stands where in which colour.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as functional
from PIL import Image
from torch import nn

from . import checkpoint
from .config import FORMATS
from .schedule import Pace, cosine_rate
from .world import Scene, render, sample_scene
from .world.spec import COLORS, KINDS, POSITIONS, SKY_BODIES, TERRAINS, TIMES

SIZE = 96  # pixels; pictures are reduced to this square
FEATURES = 256
SCENES, HELD_BACK = 12_000, 1500
BATCH = 64
PEAK_RATE = 2e-3
WARMUP = 50 * BATCH  # samples
KIND_CHOICES, COLOR_CHOICES = ("none", *KINDS), ("none", *COLORS)
# Every factor and its number of choices; yes-or-no factors have two.
FACTORS = {
    "time": len(TIMES),
    "terrain": len(TERRAINS),
    "body": len(SKY_BODIES),
    "rainbow": 2,
    "stars": 2,
    "aurora": 2,
    "lightning": 2,
    "rain": 2,
    **{f"{place} kind": len(KIND_CHOICES) for place in POSITIONS},
    **{f"{place} color": len(COLOR_CHOICES) for place in POSITIONS},
}


def labels_of(scene: Scene) -> dict[str, int]:
    """The right answers for a scene."""
    labels = {
        "time": TIMES.index(scene.time),
        "terrain": TERRAINS.index(scene.terrain),
        "body": SKY_BODIES.index(scene.body),
        "rainbow": int(scene.rainbow),
        "stars": int(scene.stars),
        "aurora": int(scene.aurora),
        "lightning": int(scene.lightning),
        "rain": int(scene.rain),
    }
    for place in POSITIONS:
        thing = next((thing for thing in scene.objects if thing.position == place), None)
        labels[f"{place} kind"] = KIND_CHOICES.index(thing.kind if thing else "none")
        labels[f"{place} color"] = COLOR_CHOICES.index(thing.color or "none" if thing else "none")
    return labels


class Judge(nn.Module):
    """Eight convolutions, one hidden layer, one head per factor."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        widths = (3, 24, 48, 64, 96)
        for before, after in pairwise(widths):
            for width, stride in ((before, 2), (after, 1)):
                layers += [nn.Conv2d(width, after, 3, stride, 1), nn.BatchNorm2d(after), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.hidden = nn.Linear(widths[-1] * (SIZE // 16) ** 2, FEATURES)
        self.heads = nn.ModuleDict({name: nn.Linear(FEATURES, choices) for name, choices in FACTORS.items()})

    def features(self, pictures: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.hidden(self.body(pictures).flatten(1)))

    def forward(self, pictures: torch.Tensor) -> dict[str, torch.Tensor]:
        features = self.features(pictures)
        return {name: head(features) for name, head in self.heads.items()}

    @torch.no_grad()
    def read(self, pictures: torch.Tensor) -> dict[str, torch.Tensor]:
        """The most likely choice of every factor."""
        return {name: scores.argmax(1) for name, scores in self(pictures).items()}


def prepared(image: Image.Image) -> torch.Tensor:
    """A picture as the judge wants it: (3, 96, 96) bytes."""
    return torch.from_numpy(np.array(image.resize((SIZE, SIZE), Image.Resampling.BILINEAR))).permute(2, 0, 1)


def normalized(pictures: torch.Tensor) -> torch.Tensor:
    return pictures.float() / 127.5 - 1


@dataclass(frozen=True)
class RealScenes:
    """Rendered scenes and what is in them."""

    pictures: torch.Tensor
    labels: dict[str, torch.Tensor]

    def part(self, rows: slice | torch.Tensor) -> RealScenes:
        return RealScenes(self.pictures[rows], {name: values[rows] for name, values in self.labels.items()})


def real_scenes(count: int, seed: int) -> RealScenes:
    """Square scenes, those kept out of the model's training included: the judge must know them all."""
    pictures = torch.empty(count, 3, SIZE, SIZE, dtype=torch.uint8)
    labels: dict[str, list[int]] = {name: [] for name in FACTORS}
    for index in range(count):
        rng = random.Random(f"{seed}/judge/{index}")
        scene = sample_scene(rng, allow_held_out=True)
        pictures[index] = prepared(render(scene, *FORMATS["square"], rng).image)
        for name, label in labels_of(scene).items():
            labels[name].append(label)
    return RealScenes(pictures, {name: torch.tensor(values) for name, values in labels.items()})


def train_judge(file: Path, pace: Pace, device: str, seed: int) -> None:
    """Train for `pace.total` samples, with a checkpoint after every round through the scenes."""
    torch.manual_seed(seed)
    judge = Judge().to(device)
    optimizer = torch.optim.AdamW(judge.parameters(), PEAK_RATE, weight_decay=0.02)
    seen = 0
    if file.exists():
        state = checkpoint.load(file, device)
        seen = state["seen"]
        if seen >= pace.total:
            return
        judge.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    scenes = real_scenes(SCENES, seed)
    count = SCENES - HELD_BACK
    held_back = scenes.part(slice(count, SCENES))
    while seen < pace.total:
        torch.manual_seed(seed + seen)
        for rows in torch.randperm(count).split(BATCH):
            rate = cosine_rate(PEAK_RATE, pace.progress(seen), (seen + BATCH) / WARMUP)
            optimizer.param_groups[0]["lr"] = rate
            batch = scenes.part(rows)
            scores = judge(_roughened(normalized(batch.pictures)).to(device))
            targets = {name: labels.to(device) for name, labels in batch.labels.items()}
            losses = [functional.cross_entropy(scores[name], target) for name, target in targets.items()]
            optimizer.zero_grad()
            sum(losses).backward()
            optimizer.step()
            seen += len(rows)
        accuracy = judge_accuracy(judge, held_back)
        worst = min(accuracy, key=accuracy.__getitem__)
        pace.report("judge", seen, f"worst factor {worst} {accuracy[worst]:.2%}")
        state = {"model": judge.state_dict(), "optimizer": optimizer.state_dict()}
        checkpoint.save({**state, "seen": seen, "accuracy": accuracy}, file)


def judge_accuracy(judge: Judge, scenes: RealScenes) -> dict[str, float]:
    """The share of right answers, per factor."""
    device = next(judge.parameters()).device
    judge.eval()
    answers: dict[str, list[torch.Tensor]] = {name: [] for name in FACTORS}
    for chunk in scenes.pictures.split(250):
        for name, choice in judge.read(normalized(chunk).to(device)).items():
            answers[name].append(choice.cpu())
    judge.train()
    return {name: float((torch.cat(answers[name]) == scenes.labels[name]).float().mean()) for name in FACTORS}


def load_judge(file: Path) -> Judge:
    judge = Judge().eval().requires_grad_(False)
    judge.load_state_dict(checkpoint.load(file)["model"])
    return judge


def _roughened(pictures: torch.Tensor) -> torch.Tensor:
    """Noise, a small shift, now and then a blur: generated pictures are not as clean as real ones."""
    amount = 0.05 * torch.rand(len(pictures), 1, 1, 1)
    pictures = pictures + amount * torch.randn_like(pictures)
    pictures = torch.roll(pictures, int(torch.randint(-2, 3, ())), dims=2)
    return functional.avg_pool2d(pictures, 3, 1, 1) if torch.rand(()) < 0.4 else pictures
