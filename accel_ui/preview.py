"""A small picture of what a run will end in, on the CPU: no decoder, no new graph on the device.

A linear map from latents to pixels is enough for a thumbnail. It is learned from the pictures that the pipeline
itself finishes, so it needs no table of models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from PIL import Image

from accel_ui.presets import Preset

BLOCK = 4  # pixels of the thumbnail along each side of one latent token
RIDGE = 1e-3  # keeps the map tame where channels depend on each other
EXAMPLES_A_CHANNEL = 2  # tokens seen before the map is trusted
MOST = 8  # thumbnails a run: each one reads from the device, and reads must not grow with the steps


def token_grid(latents: torch.Tensor, height: int, width: int) -> np.ndarray | None:
    """Latents of the first picture as rows x columns x channels, on the CPU in float32.

    Args:
        latents: batch x channels x rows x columns, or batch x tokens x channels as FLUX packs them.
        height, width: of the picture, in pixels; they tell the shape of packed tokens.
    """
    first = latents[0].detach().to("cpu", torch.float32).numpy()
    if first.ndim == 3:
        return first.transpose(1, 2, 0)
    rows = round((first.shape[0] * height / width) ** 0.5)
    if first.ndim != 2 or rows * round(rows * width / height) != first.shape[0]:
        return None
    return first.reshape(rows, -1, first.shape[1])


def predicted(before: np.ndarray, now: np.ndarray, sigma_before: float, sigma_now: float) -> np.ndarray:
    """The end of the straight line through two consecutive latents of an Euler step.

    ``x = x0 + sigma * d`` (or ``(1 - sigma) * x0 + sigma * noise``) makes ``dx / dsigma`` the direction, in both cases.
    """
    return now - sigma_now * (now - before) / (sigma_now - sigma_before)


class Preview:
    """The learned map; one for a pipeline. Used by the accelerator's thread alone."""

    def __init__(self) -> None:
        self._moments: tuple[np.ndarray, np.ndarray] | None = None
        self._tokens = 0
        self._map: np.ndarray | None = None

    def learn(self, grid: np.ndarray | None, pixels: np.ndarray) -> None:
        """Takes a finished picture as an example.

        Args:
            grid: from :func:`token_grid`, of the final latents.
            pixels: height x width x 3 floats from 0 to 1.
        """
        if grid is None or not np.isfinite(pixels).all():
            return
        rows, columns, channels = grid.shape
        small = Image.fromarray((pixels * 255).astype(np.uint8)).resize(
            (columns * BLOCK, rows * BLOCK), Image.Resampling.BOX
        )
        blocks = np.asarray(small, dtype=np.float32).reshape(rows, BLOCK, columns, BLOCK, 3).transpose(0, 2, 1, 3, 4)
        inputs = _with_constant(grid.reshape(-1, channels))
        outputs = blocks.reshape(rows * columns, -1)
        moments = inputs.T @ inputs, inputs.T @ outputs
        if self._moments is not None and self._moments[0].shape == moments[0].shape:
            moments = self._moments[0] + moments[0], self._moments[1] + moments[1]
        else:
            self._tokens = 0
        self._moments, self._map, self._tokens = moments, None, self._tokens + len(inputs)

    def picture(self, grid: np.ndarray | None) -> Image.Image | None:
        """The thumbnail of `grid`; None until enough was seen: one picture of a usual size, several of a tiny one."""
        if grid is None or self._moments is None or self._moments[0].shape[0] != grid.shape[2] + 1:
            return None
        if self._tokens < EXAMPLES_A_CHANNEL * (grid.shape[2] + 1):
            return None
        if self._map is None:
            square, cross = self._moments
            self._map = np.linalg.solve(square + RIDGE * np.trace(square) / len(square) * np.eye(len(square)), cross)
        rows, columns, channels = grid.shape
        blocks = (_with_constant(grid.reshape(-1, channels)) @ self._map).reshape(rows, columns, BLOCK, BLOCK, 3)
        pixels = blocks.transpose(0, 2, 1, 3, 4).reshape(rows * BLOCK, columns * BLOCK, 3)
        return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def _with_constant(rows: np.ndarray) -> np.ndarray:
    return np.concatenate([rows, np.ones((len(rows), 1), rows.dtype)], axis=1)


class PreviewTap:
    """Follows one run: keeps the latents of the last step, and makes a thumbnail every few steps.

    Args:
        every: steps between thumbnails (more where there would be too many); 0 makes none.
    """

    def __init__(self, preview: Preview, every: int, preset: Preset):
        self._preview, self._size = preview, (preset.height, preset.width)
        self._every = every and max(every, -(-preset.steps // MOST))
        self._latents: torch.Tensor | None = None

    def after_step(self, scheduler: Any, index: int, latents: torch.Tensor) -> Image.Image | None:
        """`index` is 1-based."""
        before, self._latents = self._latents, latents
        sigmas = getattr(scheduler, "sigmas", None)
        if not self._every or index % self._every or before is None or sigmas is None or index >= len(sigmas) - 1:
            return None
        old, new = (token_grid(tensor, *self._size) for tensor in (before, latents))
        if old is None or new is None:
            return None
        return self._preview.picture(predicted(old, new, float(sigmas[index - 1]), float(sigmas[index])))

    def finished(self, pixels: np.ndarray) -> None:
        """Learns from the picture that the last latents became."""
        if self._every and self._latents is not None:
            self._preview.learn(token_grid(self._latents, *self._size), pixels)
