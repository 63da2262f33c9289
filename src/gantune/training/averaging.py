"""The moving average of the generator, with ramp-up (Karras et al., arXiv 1710.10196, 2006.06676)."""

import torch
from torch import Tensor, nn


def average_decay(*, batch: int, num_images: int, half_life_kimg: float, rampup: float | None) -> float:
    """Return the decay of one step of `batch` images: half of the past is gone after `half_life_kimg` · 1000.

    With `rampup` the half-life is at most that share of the `num_images` seen so far: early weights go fast.
    """
    half_life = half_life_kimg * 1000
    if rampup is not None:
        half_life = min(half_life, num_images * rampup)
    return float(0.5 ** (batch / max(half_life, 1e-8)))


@torch.no_grad()
def update_average(average: nn.Module, network: nn.Module, decay: float, *, grouped: bool = True) -> None:
    """Move the parameters of `average` towards those of `network`, and copy the buffers.

    `grouped` uses one call for all tensors, otherwise one call a tensor; the numbers are the same.
    """
    averaged: list[Tensor] = list(average.parameters())
    current: list[Tensor] = list(network.parameters())
    if grouped:
        torch._foreach_lerp_(averaged, current, 1 - decay)
    else:
        for mean, value in zip(averaged, current, strict=True):
            mean.lerp_(value, 1 - decay)
    for held, source in zip(average.buffers(), network.buffers(), strict=True):
        held.copy_(source)
