"""Draw an augmentation and apply it."""

import torch
from torch import Tensor

from gantune.training.augment.bands import BAND_NAMES, amplify_bands, band_gains
from gantune.training.augment.chance import draw_columns
from gantune.training.augment.color import COLOR_NAMES, color_matrix, recolor
from gantune.training.augment.corruption import (
    CUTOUT_NAMES,
    GRAIN,
    NOISE_NAMES,
    add_noise,
    cut_out,
    draw_grain,
)
from gantune.training.augment.diffaugment import DIFFAUGMENT_NAMES, diffaugment
from gantune.training.augment.geometry import (
    BLIT_NAMES,
    GEOMETRY_NAMES,
    blit_matrix,
    geometry_matrix,
    warp,
)
from gantune.training.dealing import Draw
from gantune.training.options import AugmentOptions, Group

NAMES: dict[Group, tuple[str, ...]] = {
    "blit": BLIT_NAMES,
    "geometry": GEOMETRY_NAMES,
    "color": COLOR_NAMES,
    "filter": BAND_NAMES,
    "noise": NOISE_NAMES,
    "cutout": CUTOUT_NAMES,
}


def draw_augmentation(
    options: AugmentOptions,
    num_samples: int,
    image_shape: tuple[int, ...],
    rng: torch.Generator,
    *,
    prefix: str,
) -> dict[str, Tensor]:
    """Draw the decisions of `num_samples` augmentations, under names that begin with `prefix`.

    `image_shape` is (C, H, W).
    """
    if options.kind == "none":
        return {}
    if options.kind == "diffaugment":
        columns = draw_columns(DIFFAUGMENT_NAMES, num_samples, rng)
    else:
        columns = draw_columns(
            tuple(name for group in NAMES if group in options.groups for name in NAMES[group]),
            num_samples,
            rng,
        )
        if "noise" in options.groups:
            columns[GRAIN] = draw_grain(num_samples, image_shape, rng)
    return {prefix + name: value for name, value in columns.items()}


def augment(images: Tensor, draw: Draw, p: float, *, options: AugmentOptions, prefix: str) -> Tensor:
    """Return the augmented images [N, C, H, W]; each decision of ADA happens with probability `p`."""
    chosen = {name.removeprefix(prefix): value for name, value in draw.items() if name.startswith(prefix)}
    if options.kind == "diffaugment":
        return diffaugment(images, chosen)
    if options.kind == "none" or p == 0:
        return images
    images = _move(images, chosen, p, options)
    if "color" in options.groups:
        images = recolor(images, color_matrix(chosen, p))
    if "filter" in options.groups:
        images = amplify_bands(images, band_gains(chosen, p))
    if "noise" in options.groups:
        images = add_noise(images, chosen, p)
    return cut_out(images, chosen, p) if "cutout" in options.groups else images


def _move(images: Tensor, chosen: Draw, p: float, options: AugmentOptions) -> Tensor:
    H, W = images.shape[2:]
    matrix = torch.eye(3).expand(len(images), 3, 3)
    if "blit" in options.groups:
        matrix = blit_matrix(chosen, p, height=H, width=W)
    if "geometry" in options.groups:
        matrix = matrix @ geometry_matrix(chosen, p, height=H, width=W)
    return warp(images, matrix)
