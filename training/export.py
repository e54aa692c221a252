"""From checkpoints to a folder that `DiffusionPipeline.from_pretrained` loads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
from diffusers import FlowMatchEulerDiscreteScheduler, FluxPipeline

from . import checkpoint
from .config import Run
from .latents import LatentBasis
from .model import TinyFlux
from .tokenizers import load_tokenizers
from .vae import load_vae

SIZE_LIMIT = 20_000_000  # bytes, all files together
BASIS_IN_EXPORT = Path("vae", "latent_basis.safetensors")  # for a training that starts from this export
SHIFT = 2.0  # of the sampling times towards noise: held-out colours 100 % right, at 1.0 93 % (of 30, 8 steps)
STORED_DTYPE = torch.bfloat16  # half the size, no visible loss


def export_pipeline(run: Run, target: Path) -> int:
    """Write the pipeline of a run's last checkpoints; returns its size in bytes."""
    clip_tokenizer, t5_tokenizer = load_tokenizers(run.tokenizers)
    model = TinyFlux(clip_tokenizer, t5_tokenizer)
    model.load_state_dict(checkpoint.load(run.flow_file)["average"])
    scheduler = FlowMatchEulerDiscreteScheduler(num_train_timesteps=1000, shift=SHIFT, use_dynamic_shifting=False)
    pipe = FluxPipeline(
        scheduler=scheduler,
        vae=load_vae(run.decoder_file, LatentBasis.load(run.basis_file)).to(STORED_DTYPE),
        text_encoder=model.clip.to(STORED_DTYPE),
        tokenizer=clip_tokenizer,
        text_encoder_2=model.t5.to(STORED_DTYPE),
        tokenizer_2=t5_tokenizer,
        transformer=model.transformer.to(STORED_DTYPE),
    )
    temporary = target.with_name(f".{target.name}.new")
    shutil.rmtree(temporary, ignore_errors=True)
    pipe.save_pretrained(temporary)
    _load_text_encoders_in_float32(temporary)
    shutil.copy(run.basis_file, temporary / BASIS_IN_EXPORT)
    size = sum(file.stat().st_size for file in temporary.rglob("*") if file.is_file())
    if size > SIZE_LIMIT:
        raise ValueError(f"the export has {size:,} bytes, more than the {SIZE_LIMIT:,} allowed")
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)
    return size


def _load_text_encoders_in_float32(folder: Path) -> None:
    """transformers loads a model in the format named in its config, diffusers in float32: make them agree."""
    for name in ("text_encoder", "text_encoder_2"):
        file = folder / name / "config.json"
        config = json.loads(file.read_text())
        config["dtype"] = "float32"
        file.write_text(json.dumps(config, indent=2) + "\n")
