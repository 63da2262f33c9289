"""Draw an augmentation and apply it."""

import torch
from torch import Tensor

from gantune.training.augment.chance import draw_columns
from gantune.training.augment.color import COLOR_NAMES, color_matrix, recolor
from gantune.training.augment.diffaugment import DIFFAUGMENT_NAMES, diffaugment
from gantune.training.augment.geometry import (
    BLIT_NAMES,
    GEOMETRY_NAMES,
    blit_matrix,
    geometry_matrix,
    warp,
)
from gantune.training.dealing import Draw
from gantune.training.options import Augmentation

NAMES: dict[Augmentation, tuple[str, ...]] = {
    "none": (),
    "ada": BLIT_NAMES + GEOMETRY_NAMES + COLOR_NAMES,
    "fixed": BLIT_NAMES + GEOMETRY_NAMES + COLOR_NAMES,
    "diffaugment": DIFFAUGMENT_NAMES,
}


def draw_augmentation(
    kind: Augmentation, num_samples: int, rng: torch.Generator, *, prefix: str
) -> dict[str, Tensor]:
    """Draw the decisions of `num_samples` augmentations, under names that begin with `prefix`."""
    columns = draw_columns(NAMES[kind], num_samples, rng)
    return {prefix + name: value for name, value in columns.items()}


def augment(images: Tensor, draw: Draw, p: float, *, kind: Augmentation, prefix: str) -> Tensor:
    """Return the augmented images [N, C, H, W]; each decision of ADA happens with probability `p`."""
    chosen = {name.removeprefix(prefix): value for name, value in draw.items() if name.startswith(prefix)}
    if kind == "diffaugment":
        return diffaugment(images, chosen)
    if kind == "none" or p == 0:
        return images
    H, W = images.shape[2:]
    matrix = blit_matrix(chosen, p, height=H, width=W) @ geometry_matrix(chosen, p, height=H, width=W)
    return recolor(warp(images, matrix), color_matrix(chosen, p))
