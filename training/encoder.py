"""The VAE's encoder, written down instead of trained.

The latents are a linear code of 8x8 patches, so the weights of an AutoencoderKL encoder that computes them
can be stated. The residual branches are switched off (their last convolution is zero), the convolutions that
halve the picture move pixels into channels, and the last of them applies the code. What is left is the way
through the final GroupNorm and SiLU:

- Every value z travels as the pair +z, -z, since silu(z) - silu(-z) = z exactly.
- Beside two such pairs, a group holds constants +-2K, +-K, +-K. Pairs and constants have mean zero, and their
  variance is K^2 (1 + O(z^2 / K^2)), so the norm divides by K, a power of two, and the last convolution
  multiplies by it again. All of these constants are exact in bfloat16.
"""

from __future__ import annotations

import torch
from diffusers import AutoencoderKL
from torch import nn

from .config import VAE_FACTOR
from .latents import LatentBasis

ANCHOR = 64.0  # K: large against the latents, whose values stay below ten
ANCHORS = (2.0, -2.0, 1.0, -1.0, 1.0, -1.0)  # in units of K: squares sum to twelve, the size of a group
LATENTS_PER_GROUP = 2
SMALLEST_LOG_VARIANCE = -30.0  # the least that AutoencoderKL's posterior allows: it is certain


@torch.no_grad()
def write_encoder(vae: AutoencoderKL, basis: LatentBasis) -> None:
    """Set the encoder's weights so that `vae.encode(x)` gives the latents of `basis`."""
    encoder = vae.encoder
    for parameter in encoder.parameters():
        parameter.zero_()
    _keep_channels(encoder.conv_in, 3)
    first, second, third, _ = encoder.down_blocks
    _gather(first.downsamplers[0].conv, 3)  # 2x2 pixels: 12 channels
    _keep_channels(second.resnets[0].conv_shortcut, 12)
    _gather(second.downsamplers[0].conv, 12)  # 4x4 pixels: 48 channels
    _keep_channels(third.resnets[0].conv_shortcut, 48)
    _apply_code(third.downsamplers[0].conv, basis, encoder.conv_norm_out)
    encoder.conv_norm_out.weight.fill_(1)
    _read_out(encoder.conv_out, basis.encode.shape[1], encoder.conv_norm_out)


def _keep_channels(convolution: nn.Conv2d, count: int) -> None:
    """Pass the first channels on unchanged."""
    middle = convolution.kernel_size[0] // 2
    for channel in range(count):
        convolution.weight[channel, channel, middle, middle] = 1


def _gather(convolution: nn.Conv2d, count: int) -> None:
    """Put 2x2 neighbours' channels side by side; diffusers pads below and right, so windows start at 0."""
    for row in range(2):
        for column in range(2):
            for channel in range(count):
                convolution.weight[(row * 2 + column) * count + channel, channel, row, column] = 1


def _apply_code(convolution: nn.Conv2d, basis: LatentBasis, norm: nn.GroupNorm) -> None:
    """From 2x2 cells of 4x4 gathered pixels to the pairs +z, -z and the constants of every group."""
    code = basis.encode.T.reshape(-1, VAE_FACTOR, VAE_FACTOR, 3)  # latent, row, column, colour
    # A pixel's row is 4 a + 2 b + c, where a is the tap and b, c were gathered before; columns alike.
    code = code.reshape(-1, 2, 2, 2, 2, 2, 2, 3)  # latent, a, b, c, a', b', c', colour
    taps = code.permute(0, 2, 5, 3, 6, 7, 1, 4).reshape(len(code), 48, 2, 2)
    offset = -(basis.mean @ basis.encode)
    for latent in range(len(code)):
        for channel, sign in zip(_pair(latent, norm), (1, -1), strict=True):
            convolution.weight[channel, :48, :2, :2] = sign * taps[latent]
            convolution.bias[channel] = sign * offset[latent]
    size = norm.num_channels // norm.num_groups
    for group in range(-(-len(code) // LATENTS_PER_GROUP)):
        first = group * size + 2 * LATENTS_PER_GROUP
        convolution.bias[first : first + len(ANCHORS)] = ANCHOR * torch.tensor(ANCHORS)


def _read_out(convolution: nn.Conv2d, latents: int, norm: nn.GroupNorm) -> None:
    for latent in range(latents):
        for channel, sign in zip(_pair(latent, norm), (1, -1), strict=True):
            convolution.weight[latent, channel, 1, 1] = sign * ANCHOR
    convolution.bias[latents:] = SMALLEST_LOG_VARIANCE


def _pair(latent: int, norm: nn.GroupNorm) -> tuple[int, int]:
    """The channels that carry +z and -z."""
    group, place = divmod(latent, LATENTS_PER_GROUP)
    first = group * (norm.num_channels // norm.num_groups) + 2 * place
    return first, first + 1
