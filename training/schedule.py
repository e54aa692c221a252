"""Learning rates, weight averages, and how long a stage may take."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

FINAL_RATE_SHARE = 0.02  # of the peak rate is left at the end


@dataclass
class Pace:
    """How far a stage is to go (`total`, in its own unit), and when it must stop for today."""

    total: int
    seconds: float = math.inf
    started: float = field(default_factory=time.monotonic)
    _counted: tuple[int, float] | None = None

    def time_is_up(self) -> bool:
        return time.monotonic() - self.started >= self.seconds

    def progress(self, done: int) -> float:
        """How far the stage is, 0..1, by work or by time: the learning rate ends low in either case."""
        return min(1.0, max(done / self.total, (time.monotonic() - self.started) / self.seconds))

    def report(self, stage: str, done: int, message: str) -> None:
        """One line of progress with the time left."""
        elapsed = time.monotonic() - self.started
        left = ""
        if self._counted is None:
            self._counted = done, elapsed
        elif done > self._counted[0]:
            first, since = self._counted
            seconds = (elapsed - since) / (done - first) * (self.total - done)
            left = f", {seconds / 60:.0f} min left"
        print(f"[{stage}] {done}/{self.total} {message}, {elapsed / 60:.1f} min{left}", flush=True)


class CheckpointClock:
    """Says when the next checkpoint is due."""

    def __init__(self, minutes: float) -> None:
        self.interval = minutes * 60
        self.last = time.monotonic()

    def is_due(self) -> bool:
        if time.monotonic() - self.last < self.interval:
            return False
        self.last = time.monotonic()
        return True


def cosine_rate(peak: float, progress: float, warmup: float = 1.0) -> float:
    """Half a cosine down to a fiftieth of the peak, times the share of the warm-up that is done."""
    falling = 0.5 * (1 + math.cos(math.pi * progress))
    return peak * min(1.0, warmup) * (FINAL_RATE_SHARE + (1 - FINAL_RATE_SHARE) * falling)


def ema_decay(step: int, longest: float) -> float:
    """The decay of a weight average that forgets the first steps quickly."""
    return min(longest, step / (step + 20))
