"""Medians, spreads and percentiles."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

median = statistics.median


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` (0 to 1) of `values` do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """Where the middle half of `values` begins and ends."""
    return percentile(values, 0.25), percentile(values, 0.75)


def ratios(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """Round by round: each value over the other one of the same round, so that a slow minute hits both."""
    return [value / other for value, other in zip(values, others, strict=True)]


def in_words(values: Sequence[float], digits: int = 2) -> str:
    """The spread: `0.98 to 1.03, 12 runs`."""
    low, high = quartiles(values)
    return f"{low:.{digits}f} to {high:.{digits}f}, {len(values)} runs"
