"""The shortest correct diffusers script: `python benchmarks/bare.py FILE.png`, the embedded model on the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from diffusers import DiffusionPipeline

MODEL = Path(__file__).parent.parent / "accel_ui" / "tiny"


def load(*, compiled: bool = False) -> DiffusionPipeline:
    """The pipeline; with `compiled` as most scripts do it."""
    pipe = DiffusionPipeline.from_pretrained(MODEL, dtype=torch.float32)
    if compiled:
        pipe.transformer.compile()
    return pipe


def draw(pipe: DiffusionPipeline, file: str, prompt: str, seed: int, **numbers) -> None:
    """Makes one picture; `numbers` are the pipeline's own arguments."""
    pipe(prompt=prompt, generator=torch.Generator("cpu").manual_seed(seed), **numbers).images[0].save(file)


if __name__ == "__main__":
    draw(load(), sys.argv[1], "a red house", 1, height=128, width=128, num_inference_steps=4, max_sequence_length=32)
