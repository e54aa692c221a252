"""Attention as two plain matrix products, for training on a CPU.

With about a hundred tokens and heads of 32, the CPU's fused attention kernel is slower in bfloat16, above all
backwards. (In float32 it is not: 19.0 against 17.0 samples a second, measured on an AVX2-only EPYC.)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from diffusers.models.transformers import transformer_flux

from .precision import has_fast_bfloat16


def plain_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **_: Any) -> torch.Tensor:
    """Same layout as diffusers' dispatcher: (batch, tokens, heads, width)."""
    query, key, value = (tensor.to(value.dtype).transpose(1, 2) for tensor in (query, key, value))
    scores = torch.matmul(query * query.shape[-1] ** -0.5, key.transpose(-1, -2))
    return torch.matmul(torch.softmax(scores, -1), value).transpose(1, 2)


@contextmanager
def fast_attention(device: str) -> Iterator[None]:
    """Use `plain_attention` in Flux transformers inside this block, if it is faster on this device."""
    original = transformer_flux.dispatch_attention_fn
    if device == "cpu" and has_fast_bfloat16(device):
        transformer_flux.dispatch_attention_fn = plain_attention
    try:
        yield
    finally:
        transformer_flux.dispatch_attention_fn = original
