"""The random numbers of an augmentation: one row a sample, one named column a decision."""

import torch
from torch import Tensor

from gantune.training.dealing import Draw


def draw_columns(names: tuple[str, ...], num_samples: int, rng: torch.Generator) -> dict[str, Tensor]:
    """Draw for each decision whether it happens (uniform), how it turns out (uniform), how strongly (normal).

    Column `name` is [N, 3].
    """
    columns = {}
    for name in names:
        uniform = torch.rand(num_samples, 2, generator=rng)
        columns[name] = torch.cat([uniform, torch.randn(num_samples, 1, generator=rng)], dim=1)
    return columns


def happens(draw: Draw, name: str, p: float) -> Tensor:
    """Say for each sample [N] whether decision `name` happens at probability `p`."""
    return draw[name][:, 0] < p


def uniform(draw: Draw, name: str) -> Tensor:
    """Return the uniform number [N] in [0, 1) of decision `name`."""
    return draw[name][:, 1]


def normal(draw: Draw, name: str) -> Tensor:
    """Return the normal number [N] of decision `name`."""
    return draw[name][:, 2]
