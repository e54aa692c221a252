"""Start from an exported pipeline instead of from nothing, even from one with fewer latent channels.

What has the same name and shape is taken over; embeddings are matched word by word; channels that the export
does not know start at zero, so that the model draws at first exactly what the export drew.
"""

from __future__ import annotations

from pathlib import Path

import torch
from diffusers import AutoencoderKL, FluxPipeline
from torch import nn

from .model import TinyFlux
from .tokenizers import load_tokenizers

Weights = dict[str, torch.Tensor]


def warm_flow(export: Path, tokenizers: Path) -> Weights:
    """The weights of a TinyFlux as close to the exported one as can be."""
    pipe = FluxPipeline.from_pretrained(export, torch_dtype=torch.float32)
    clip_tokenizer, t5_tokenizer = load_tokenizers(tokenizers)
    model = TinyFlux(clip_tokenizer, t5_tokenizer)
    _match_words(pipe.text_encoder, pipe.tokenizer.get_vocab(), clip_tokenizer.get_vocab())
    _match_words(pipe.text_encoder_2, pipe.tokenizer_2.get_vocab(), t5_tokenizer.get_vocab())
    _take_over(model.clip, pipe.text_encoder.state_dict())
    _take_over(model.t5, pipe.text_encoder_2.state_dict())
    _take_over(model.transformer, pipe.transformer.state_dict())
    return model.state_dict()


def warm_vae(export: Path, vae: AutoencoderKL) -> AutoencoderKL:
    """The VAE with the exported decoder's weights; its encoder is left alone."""
    old = AutoencoderKL.from_pretrained(export / "vae", torch_dtype=torch.float32)
    _take_over(vae.decoder, old.decoder.state_dict())
    return vae


def _match_words(encoder: nn.Module, old_words: dict[str, int], new_words: dict[str, int]) -> None:
    """Reorder an encoder's embedding rows to a new vocabulary; words new to it start at random."""
    old = encoder.get_input_embeddings().weight.detach()
    generator = torch.Generator().manual_seed(0)
    new = old.mean(0) + old.std() * torch.randn(len(new_words), old.shape[1], generator=generator)
    for word, row in new_words.items():
        if word in old_words:
            new[row] = old[old_words[word]]
    encoder.set_input_embeddings(nn.Embedding.from_pretrained(new, freeze=False))


def _take_over(module: nn.Module, old: Weights) -> None:
    """Copy weights; where the new tensor is larger, the old one fills its first part and the rest is zero."""
    new = module.state_dict()
    for name, weight in old.items():
        if new[name].shape != weight.shape:
            grown = torch.zeros_like(new[name])
            grown[tuple(slice(size) for size in weight.shape)] = weight
            weight = grown
        new[name] = weight
    module.load_state_dict(new)
