"""Color augmentation: one 4×4 matrix a sample (ADA, arXiv 2006.06676, appendix B)."""

from math import pi, sqrt

import torch
from torch import Tensor

from gantune.training.augment.chance import happens, normal, uniform
from gantune.training.dealing import Draw

COLOR_NAMES = ("brightness", "contrast", "luma_flip", "hue", "saturation")
BRIGHTNESS = 0.2
CONTRAST_OCTAVES = 0.5


def color_matrix(draw: Draw, p: float) -> Tensor:
    """Return the matrices [N, 4, 4] that act on (red, green, blue, 1)."""
    count = draw["brightness"].shape[0]
    eye = torch.eye(4).expand(count, 4, 4)
    luma = torch.tensor([1.0, 1.0, 1.0, 0.0]) / sqrt(3)
    along = luma[:, None] * luma[None, :]  # projects on the gray axis
    across = torch.diag(torch.tensor([1.0, 1.0, 1.0, 0.0])) - along
    corner = torch.diag(torch.tensor([0.0, 0.0, 0.0, 1.0]))

    brightness = normal(draw, "brightness") * BRIGHTNESS * happens(draw, "brightness", p)
    offset = torch.zeros(4, 4)
    offset[:3, 3] = 1
    matrix = eye + offset * brightness[:, None, None]
    contrast = torch.exp2(normal(draw, "contrast") * CONTRAST_OCTAVES * happens(draw, "contrast", p))
    matrix = (corner + (along + across) * contrast[:, None, None]) @ matrix
    flips = happens(draw, "luma_flip", p) & (uniform(draw, "luma_flip") < 0.5)
    matrix = (eye - 2 * along * flips[:, None, None]) @ matrix
    matrix = _hue_rotation((2 * uniform(draw, "hue") - 1) * pi * happens(draw, "hue", p)) @ matrix
    saturation = torch.exp2(normal(draw, "saturation") * happens(draw, "saturation", p))
    return (along + corner + across * saturation[:, None, None]) @ matrix


def recolor(images: Tensor, matrix: Tensor) -> Tensor:
    """Apply `matrix` [N, 4, 4] to images [N, C, H, W] of 3 channels, or of 1, taken as gray."""
    matrix = matrix.to(images)
    if images.shape[1] == 1:
        gain = matrix[:, :3, :3].sum(dim=(1, 2)) / 3
        return images * gain[:, None, None, None] + matrix[:, :3, 3].mean(dim=1)[:, None, None, None]
    flat = matrix[:, :3, :3] @ images.flatten(2) + matrix[:, :3, 3:]
    return flat.reshape(images.shape)


def _hue_rotation(angle: Tensor) -> Tensor:
    """Return rotations [N, 4, 4] about the gray axis, by Rodrigues' formula."""
    axis = 1 / sqrt(3)
    cross = torch.zeros(4, 4)
    cross[:3, :3] = axis * torch.tensor([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    sine, cosine = angle.sin()[:, None, None], angle.cos()[:, None, None]
    return torch.eye(4) + sine * cross + (1 - cosine) * (cross @ cross)
