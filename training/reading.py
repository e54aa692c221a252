"""A reading exercise for the word encoder (T5): from a caption alone, say what stands where and in which colour.

FLUX gives all words the same position, so its transformer cannot tell their order: which colour and which place
belong to which object must be in the words' vectors. From pictures that takes hundreds of thousands of samples;
captions with known scenes teach it in minutes.
"""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as functional
from torch import nn
from transformers import T5TokenizerFast

from .judge import FACTORS, labels_of
from .schedule import Pace, cosine_rate
from .tokenizers import token_ids
from .world import Scene, caption, sample_scene
from .world.spec import POSITIONS

if TYPE_CHECKING:
    from .model import TinyFlux

BATCH = 48
PEAK_RATE = 1.5e-3
WARMUP = 50 * BATCH  # captions
# The relative position biases must grow to several units before an adjective finds its noun. At the rate of the other
# weights they do not: after 39,000 captions 10 % of the prompts with two objects were read right, with this factor 98 %.
BIAS_RATE_FACTOR = 30
KEEP_WEIGHT = 2.0  # of the change to vectors that a transformer knows already; it stays below 4 %
REPORTED_STEPS = 200
READ = tuple(f"{place} {what}" for place in POSITIONS for what in ("kind", "color"))  # of the judge's factors


class Reader(nn.Module):
    """For every factor, one look at the words (attention with a learned query) and one linear layer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.randn(len(READ), width) / width**0.5)
        self.answers = nn.ModuleList(nn.Linear(width, FACTORS[name]) for name in READ)

    def forward(self, words: torch.Tensor, real: torch.Tensor) -> list[torch.Tensor]:
        """Scores (n, choices) of every factor, from vectors (n, tokens, width); `real` is false for padding."""
        scores = torch.einsum("ntw,fw->nft", words, self.queries).masked_fill(~real[:, None, :], -torch.inf)
        seen = torch.softmax(scores, -1) @ words
        return [answer(seen[:, index]) for index, answer in enumerate(self.answers)]


class CaptionSource:
    """Endless captions with what they say; the same for the same seed, process and step."""

    def __init__(self, tokenizer: T5TokenizerFast, seed: int, rank: int) -> None:
        self.tokenizer, self.seed, self.rank = tokenizer, seed, rank

    def draw(self, step: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids (n, tokens), and the right answers (n, factors)."""
        rng = random.Random(f"{self.seed}/reading/{step}/{self.rank}")
        scenes = [sample_scene(rng) for _ in range(size)]
        return self.batch(scenes, [caption(scene, rng) for scene in scenes])

    def batch(self, scenes: list[Scene], texts: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
        labels = [[labels_of(scene)[name] for name in READ] for scene in scenes]
        return torch.tensor(token_ids(self.tokenizer, texts)), torch.tensor(labels)


def reading_loss(scores: list[torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy, the mean over the factors. What a caption leaves unsaid can only be guessed."""
    return sum(functional.cross_entropy(score, labels[:, index]) for index, score in enumerate(scores)) / len(scores)


def train_reading(model: TinyFlux, source: CaptionSource, pace: Pace, keep: bool) -> None:
    """Train the model's T5 and reader for `pace.total` captions.

    Args:
        keep: whether the transformer knows this T5 already, so that its vectors must stay about the same.
    """
    known = copy.deepcopy(model.t5).requires_grad_(False)
    biases = [parameter for name, parameter in model.t5.named_parameters() if "relative" in name]
    others = [
        parameter
        for name, parameter in [*model.t5.named_parameters(), *model.reader.named_parameters()]
        if "relative" not in name
    ]
    optimizer = torch.optim.AdamW(
        [{"params": others, "factor": 1}, {"params": biases, "factor": BIAS_RATE_FACTOR}],
        betas=(0.9, 0.98),
        weight_decay=0,
    )
    for step in range(pace.total // BATCH):
        rate = cosine_rate(PEAK_RATE, pace.progress(step * BATCH), (step + 1) * BATCH / WARMUP)
        for group in optimizer.param_groups:
            group["lr"] = rate * group["factor"]
        ids, answers = (tensor.to(model.t5.device) for tensor in source.draw(step, BATCH))
        loss = reading_loss(model.read(ids), answers)
        if step % REPORTED_STEPS == 0:
            pace.report("reading", step * BATCH, f"loss {loss.item():.4f}")
        if keep:
            before, now = known(input_ids=ids)[0], model.t5(input_ids=ids)[0]
            loss = loss + KEEP_WEIGHT * (now - before).square().mean() / before.square().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*others, *biases], 1.0)
        optimizer.step()
