"""Muon: momentum, orthogonalised by a Newton-Schulz iteration (Keller Jordan, https://kellerjordan.github.io/posts/muon/).

`torch.optim.Muon` iterates in bfloat16 whatever the hardware, which a CPU without bfloat16 cannot bear; this
one iterates in the format that is fast here. Updates are scaled to the size of AdamW's (Moonlight,
arXiv:2502.16982).
"""

from __future__ import annotations

import torch
from torch.nn.parameter import Parameter

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the quintic iteration in Keller Jordan's post
ITERATIONS = 4
ADAMW_UPDATE_RMS = 0.2  # Moonlight's measured rms of an AdamW update


class Muon(torch.optim.Optimizer):
    """For the weight matrices inside a network."""

    def __init__(
        self,
        parameters: list[Parameter],
        lr: float,
        dtype: torch.dtype,
        momentum: float = 0.95,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(parameter)
                momentum = state["momentum"].lerp_(parameter.grad, 1 - group["momentum"])
                direction = parameter.grad.lerp(momentum, group["momentum"])  # Nesterov's look ahead
                update = orthogonalised(direction.to(self.dtype))
                scale = ADAMW_UPDATE_RMS * max(parameter.shape) ** 0.5
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                parameter.add_(update.to(parameter.dtype), alpha=-group["lr"] * scale)


def orthogonalised(matrix: torch.Tensor) -> torch.Tensor:
    """The nearest matrix whose singular values are all about one."""
    a, b, c = COEFFICIENTS
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(ITERATIONS):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x
