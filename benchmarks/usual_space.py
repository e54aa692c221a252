"""The usual demo app: model and torch.compile at import, free sliders for size and steps."""

from __future__ import annotations

from pathlib import Path

import gradio as gr
import torch
from diffusers import DiffusionPipeline

pipe = DiffusionPipeline.from_pretrained(Path(__file__).parent.parent / "accel_ui" / "tiny", dtype=torch.float32)
pipe.transformer = torch.compile(pipe.transformer)
pipe(prompt="warm-up", height=128, width=128, num_inference_steps=4, max_sequence_length=32)


def generate(prompt: str, seed: int, width: int, height: int, steps: int):
    return pipe(
        prompt=prompt,
        width=width,
        height=height,
        num_inference_steps=steps,
        max_sequence_length=32,
        generator=torch.Generator("cpu").manual_seed(seed),
    ).images[0]


demo = gr.Interface(
    generate,
    [
        gr.Textbox(label="Prompt"),
        gr.Number(1, label="Seed", precision=0),
        gr.Slider(64, 256, 128, step=16, label="Width"),
        gr.Slider(64, 256, 128, step=16, label="Height"),
        gr.Slider(1, 16, 4, step=1, label="Steps"),
    ],
    gr.Image(label="Picture"),
    api_name="generate",
)

if __name__ == "__main__":
    demo.launch()
