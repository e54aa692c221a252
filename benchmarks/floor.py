"""The least time a picture can take on a device: counted FLOPs and bytes over what the device itself was seen to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from diffusers import DiffusionPipeline
from torch.utils.flop_counter import FlopCounterMode

REPEATS = 20


@dataclass(frozen=True)
class Rates:
    """FLOPs and bytes a second of one device, measured."""

    flops: float
    bytes: float


@dataclass(frozen=True)
class Work:
    """What one call of a module needs: FLOPs, and bytes of weights that are read once."""

    flops: float
    bytes: float

    def floor(self, rates: Rates) -> float:
        """Seconds: computing and reading overlap at best."""
        return max(self.flops / rates.flops, self.bytes / rates.bytes)


def synchronize(device: str) -> None:
    """Waits for the device."""
    if device != "cpu":
        torch.accelerator.synchronize()


def measured_rates(device: str, *, small: bool = False) -> Rates:
    """A large bfloat16 matrix product, and a large copy (each byte is read and written)."""
    side, length = (512, 2**22) if small else (8192, 2**30)
    one, other = (torch.randn(side, side, device=device, dtype=torch.bfloat16) for _ in range(2))
    source = torch.zeros(length, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return Rates(
        flops=2 * side**3 / _seconds(lambda: one @ other, device),
        bytes=2 * length / _seconds(lambda: target.copy_(source), device),
    )


def _seconds(call: Callable[[], object], device: str) -> float:
    """The best of a few, each over several calls."""
    call()
    best = float("inf")
    for _ in range(3):
        synchronize(device)
        started = time.perf_counter()
        for _ in range(REPEATS):
            call()
        synchronize(device)
        best = min(best, (time.perf_counter() - started) / REPEATS)
    return best


def counted_work(pipe: DiffusionPipeline, draw: Callable[[], None]) -> list[Work]:
    """Every call of the denoiser and the decoder in one run of `draw`."""
    work: list[Work] = []
    originals = [(pipe.transformer, "forward"), (pipe.vae, "decode")]
    for module, method in originals:
        setattr(module, method, _counting(getattr(module, method), _weights(module, method), work))
    try:
        draw()
    finally:
        for module, method in originals:
            delattr(module, method)
    return work


def _weights(module: torch.nn.Module, method: str) -> int:
    part = module.decoder if method == "decode" else module
    return sum(value.numel() * value.element_size() for value in part.parameters())


def _counting(call: Callable, weights: int, work: list[Work]) -> Callable:
    def counted(*args, **kwargs):
        with FlopCounterMode(display=False) as counter:
            result = call(*args, **kwargs)
        work.append(Work(counter.get_total_flops(), weights))
        return result

    return counted
