"""Adam with a learning rate relative to each tensor's size, so that one number suits every family.

Folded gains make a network's weights differ in size by orders of magnitude from layer to layer; the rate of a
tensor is the given one times its root mean square.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from gantune.training.options import Recipe

# Biases and noise strengths may be 0, and must be able to leave it.
_SMALLEST_SIZE = 0.01


def make_optimizer(
    network: nn.Module, rate: float, recipe: Recipe, *, fixed: Sequence[str] = ()
) -> torch.optim.Optimizer:
    """Return Adam over all parameters; those whose name begins with one of `fixed` have rate 0."""
    groups = [
        {"params": [parameter], "lr": size * rate, "largest_lr": size * rate}
        for parameter, size in _sizes(network, fixed)
    ]
    return torch.optim.Adam(groups, betas=(recipe.beta1, recipe.beta2), eps=1e-8, fused=True)


def set_rate(optimizer: torch.optim.Optimizer, share: float) -> None:
    """Set every tensor's rate to a share of the one it began with."""
    for group in optimizer.param_groups:
        group["lr"] = group["largest_lr"] * share


def _sizes(network: nn.Module, fixed: Sequence[str]) -> Iterator[tuple[Tensor, float]]:
    for name, parameter in network.named_parameters():
        is_fixed = name.startswith(tuple(fixed))
        size = float(parameter.detach().square().mean().sqrt())
        yield parameter, 0.0 if is_fixed else max(size, _SMALLEST_SIZE)
