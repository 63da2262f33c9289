"""Corruption of images: Gaussian noise, and a square cut out (ADA, arXiv 2006.06676, appendix B)."""

import torch
from torch import Tensor

from gantune.training.augment.chance import happens, normal, uniform
from gantune.training.dealing import Draw

NOISE_NAMES = ("noise",)
CUTOUT_NAMES = ("cutout_x", "cutout_y")
GRAIN = "grain"
NOISE_DEVIATION = 0.1
CUTOUT_SIZE = 0.5


def draw_grain(num_samples: int, image_shape: tuple[int, ...], rng: torch.Generator) -> Tensor:
    """Draw the noise [N, C, H, W] itself, of unit variance."""
    return torch.randn(num_samples, *image_shape, generator=rng)


def add_noise(images: Tensor, draw: Draw, p: float) -> Tensor:
    """Add noise whose deviation is |normal| · 0.1, one a sample, to images [N, C, H, W]."""
    deviation = normal(draw, "noise").abs() * NOISE_DEVIATION * happens(draw, "noise", p)
    return images + (draw[GRAIN] * deviation[:, None, None, None]).to(images)


def cut_out(images: Tensor, draw: Draw, p: float) -> Tensor:
    """Set a square of half the size about a uniform center, also over the edge, to 0."""
    H, W = images.shape[2:]
    # One decision for both directions.
    is_cut = happens(draw, "cutout_x", p)
    rows = _is_near(uniform(draw, "cutout_y"), H)
    columns = _is_near(uniform(draw, "cutout_x"), W)
    hole = rows[:, None, :, None] & columns[:, None, None, :] & is_cut[:, None, None, None]
    return images * (~hole).to(images)


def _is_near(center: Tensor, size: int) -> Tensor:
    """Say which of `size` places are within a quarter of the size of `center` [N] in [0, 1): [N, size]."""
    places = (torch.arange(size) + 0.5) / size
    return (places[None, :] - center[:, None]).abs() < CUTOUT_SIZE / 2
