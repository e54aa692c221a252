"""The AutoencoderKL: a decoder trained to draw from fixed latents, and the encoder that computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL

from . import checkpoint
from .config import FORMAT_SHARES, FORMATS, LATENT_CHANNELS, VAE_FACTOR
from .data import load_pictures
from .encoder import write_encoder
from .latents import LatentBasis
from .precision import mixed_precision
from .schedule import Pace, cosine_rate, ema_decay

BLOCK_CHANNELS = (24, 48, 96, 96)
CROP = 48  # pixels; crops make small, varied batches while the rough work is done
CROP_SHARE = 0.6  # of the training is on crops, the rest on whole pictures
CROP_BATCH, WHOLE_BATCH = 10, 3
LATENT_NOISE = 0.10  # the transformer's latents are never exact: the decoder must bear that
LEARNING_RATE = 2e-3
WARMUP_STEPS = 100
LONGEST_DECAY = 0.998  # of the weight average, per step
CHECKPOINT_STEPS = 200


def build_vae() -> AutoencoderKL:
    """Four blocks of one layer, no attention in the middle: 2.1 M parameters, 8x reduction."""
    return AutoencoderKL(
        in_channels=3,
        out_channels=3,
        down_block_types=["DownEncoderBlock2D"] * 4,
        up_block_types=["UpDecoderBlock2D"] * 4,
        block_out_channels=BLOCK_CHANNELS,
        layers_per_block=1,
        latent_channels=LATENT_CHANNELS,
        norm_num_groups=8,
        use_quant_conv=False,
        use_post_quant_conv=False,
        mid_block_add_attention=False,
        sample_size=128,
        scaling_factor=1.0,
        shift_factor=0.0,
    )


def _decoder_loss(vae: AutoencoderKL, pixels: torch.Tensor, latents: torch.Tensor) -> torch.Tensor:
    """Absolute and squared error, and the error of the edges: outlines matter most in a flat illustration."""
    amount = LATENT_NOISE * torch.rand(len(latents), 1, 1, 1, device=latents.device)
    drawn = vae.decode(latents + amount * torch.randn_like(latents)).sample.float()
    error = drawn - pixels
    edges = error.diff(dim=-1).abs().mean() + error.diff(dim=-2).abs().mean()
    return error.abs().mean() + 2 * error.square().mean() + edges


def train_decoder(
    file: Path,
    data: Path,
    basis: LatentBasis,
    pace: Pace,
    device: str,
    seed: int,
    start: AutoencoderKL | None = None,
) -> None:
    """Train the decoder, from its checkpoint if there is one, else from `start` or from nothing."""
    torch.manual_seed(seed)
    vae = start or build_vae()
    average = build_vae().requires_grad_(False)
    decoder, averaged = vae.decoder, average.decoder
    averaged.load_state_dict(decoder.state_dict())
    vae.to(device)
    average.to(device)
    parameters = list(decoder.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=LEARNING_RATE, betas=(0.9, 0.99), weight_decay=1e-4)
    step = 0
    if file.exists():
        state = checkpoint.load(file, device)
        decoder.load_state_dict(state["model"])
        averaged.load_state_dict(state["average"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    if step >= pace.total:
        return
    batches = _batches(data, basis, seed + step, lambda: step < CROP_SHARE * pace.total)
    losses = []
    for pixels, latents in batches:
        rate = cosine_rate(LEARNING_RATE, pace.progress(step), (step + 1) / WARMUP_STEPS)
        optimizer.param_groups[0]["lr"] = rate
        with mixed_precision(device):
            loss = _decoder_loss(vae, pixels.to(device), latents.to(device))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        step += 1
        with torch.no_grad():
            decay = ema_decay(step, LONGEST_DECAY)
            torch._foreach_lerp_(list(averaged.parameters()), parameters, 1 - decay)
        losses.append(loss.item())
        stop = step >= pace.total or pace.time_is_up()
        if step % CHECKPOINT_STEPS == 0 or stop:
            pace.report("decoder", step, f"loss {np.mean(losses[-CHECKPOINT_STEPS:]):.4f}")
            state = {"model": decoder.state_dict(), "average": averaged.state_dict()}
            checkpoint.save({**state, "optimizer": optimizer.state_dict(), "step": step}, file)
        if stop:
            return


def _batches(
    data: Path, basis: LatentBasis, seed: int, on_crops: Callable[[], bool]
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Endless pairs of pixels in -1..1 and their latents."""
    rng = np.random.default_rng(seed)
    pictures = {name: load_pictures(data, name) for name in FORMATS}
    names, shares = list(FORMAT_SHARES), list(FORMAT_SHARES.values())
    while True:
        source = pictures[str(rng.choice(names, p=shares))]
        rows = rng.integers(len(source), size=CROP_BATCH if on_crops() else WHOLE_BATCH)
        batch = _crops(source, rows, rng) if on_crops() else source[rows]
        pixels = torch.from_numpy(batch)
        yield pixels.permute(0, 3, 1, 2).float() / 127.5 - 1, basis(pixels)


def _crops(source: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random crops on the latent grid."""
    _, height, width, _ = source.shape
    tops = VAE_FACTOR * rng.integers((height - CROP) // VAE_FACTOR + 1, size=len(rows))
    lefts = VAE_FACTOR * rng.integers((width - CROP) // VAE_FACTOR + 1, size=len(rows))
    windows = zip(rows, tops, lefts, strict=True)
    return np.stack([source[row, top : top + CROP, left : left + CROP] for row, top, left in windows])


def load_vae(decoder_file: Path, basis: LatentBasis) -> AutoencoderKL:
    """The trained decoder (averaged weights) with the encoder that belongs to it."""
    vae = build_vae().requires_grad_(False).eval()
    if decoder_file.exists():
        vae.decoder.load_state_dict(checkpoint.load(decoder_file)["average"])
    write_encoder(vae, basis)
    return vae


def psnr(drawn: torch.Tensor, pixels: torch.Tensor) -> float:
    """Mean over pictures of the peak signal-to-noise ratio, for values in -1..1."""
    errors = (drawn.clamp(-1, 1) - pixels).square().flatten(1).mean(1)
    return float((10 * torch.log10(4 / errors)).mean())
