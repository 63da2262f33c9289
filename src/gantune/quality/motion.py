"""Move images exactly: shifts and rotations by windowed sinc, and the filters both sides of EQ-R share."""

from math import cos, pi, sin

import torch
import torch.nn.functional as F
from torch import Tensor

_RADIUS = 3
_FREQUENCIES = 128


def shift_whole(images: Tensor, dx: int, dy: int) -> tuple[Tensor, Tensor]:
    """Move [N, C, H, W] right by dx and down by dy; give the images and where they are known [H, W]."""
    moved = torch.roll(images, (dy, dx), dims=(2, 3))
    known = torch.zeros(images.shape[2:], dtype=torch.bool)
    rows, columns = _inside(dy, images.shape[2]), _inside(dx, images.shape[3])
    known[rows, columns] = True
    return moved, known


def _inside(step: int, size: int) -> slice:
    return slice(max(step, 0), size + min(step, 0))


def shift_fraction(images: Tensor, dx: float, dy: float) -> tuple[Tensor, Tensor]:
    """Move by any dx and dy with a separable Lanczos filter; known where the filter lay inside."""
    whole_x, whole_y = round(dx), round(dy)
    filtered = F.conv2d(
        images.flatten(0, 1).unsqueeze(1),
        torch.outer(_lanczos_taps(dy - whole_y), _lanczos_taps(dx - whole_x))[None, None].to(images),
        padding=_RADIUS,
    )
    moved, known = shift_whole(filtered.reshape(images.shape), whole_x, whole_y)
    border = torch.zeros_like(known)
    border[_RADIUS:-_RADIUS, _RADIUS:-_RADIUS] = True
    return moved, known & torch.roll(border, (whole_y, whole_x), dims=(0, 1))


def _lanczos_taps(step: float) -> Tensor:
    """Give correlation taps [2·radius + 1] that read the value at −step."""
    taps = _lanczos(torch.arange(-_RADIUS, _RADIUS + 1, dtype=torch.float64) + step)
    return taps / taps.sum()


def _lanczos(x: Tensor) -> Tensor:
    return torch.sinc(x) * torch.sinc(x / _RADIUS) * (x.abs() < _RADIUS)


def rotate(images: Tensor, angle: float) -> tuple[Tensor, Tensor]:
    """Rotate about the middle by `angle` radians (x to y) with a Lanczos filter; give also where it is known.

    Frequencies outside what the pixel grid holds after the rotation must have been removed before
    (`limit_to_common_band`).
    """
    n, channels, height, width = images.shape
    rows, columns = torch.meshgrid(
        torch.arange(height, dtype=torch.float64) - (height - 1) / 2,
        torch.arange(width, dtype=torch.float64) - (width - 1) / 2,
        indexing="ij",
    )
    source_x = cos(angle) * columns + sin(angle) * rows + (width - 1) / 2
    source_y = -sin(angle) * columns + cos(angle) * rows + (height - 1) / 2
    base_x, base_y = source_x.floor(), source_y.floor()
    flat = images.flatten(2)
    total, weights = torch.zeros_like(images), torch.zeros(height, width, dtype=torch.float64)
    for step_y in range(1 - _RADIUS, _RADIUS + 1):
        for step_x in range(1 - _RADIUS, _RADIUS + 1):
            x, y = base_x + step_x, base_y + step_y
            weight = _lanczos(source_x - x) * _lanczos(source_y - y)
            index = (y.clamp(0, height - 1) * width + x.clamp(0, width - 1)).long().flatten()
            total += flat[:, :, index].reshape(n, channels, height, width) * weight.to(images)
            weights += weight
    margin = float(_RADIUS)
    known = (source_x >= margin) & (source_x <= width - 1 - margin)
    known &= (source_y >= margin) & (source_y <= height - 1 - margin)
    return total / weights.to(images), known


def limit_to_common_band(images: Tensor, angle: float) -> tuple[Tensor, Tensor]:
    """Keep the frequencies that lie in the pixel grid's square and in that square rotated by `angle`.

    The filter is that region's transform under a Lanczos window; known where it lay inside the image.
    """
    axis = (torch.arange(_FREQUENCIES, dtype=torch.float64) + 0.5) / _FREQUENCIES - 0.5
    v, u = torch.meshgrid(axis, axis, indexing="ij")
    turned_u, turned_v = cos(angle) * u + sin(angle) * v, -sin(angle) * u + cos(angle) * v
    is_kept = ((turned_u.abs() <= 0.5) & (turned_v.abs() <= 0.5)).double()
    radius = 2 * _RADIUS
    steps = torch.arange(-radius, radius + 1, dtype=torch.float64)
    waves = torch.exp(2j * pi * steps[:, None] * axis)  # [taps, frequencies]
    kernel = (waves @ is_kept.to(waves.dtype) @ waves.t()).real
    window = torch.sinc(steps / (radius + 1))
    kernel = kernel * torch.outer(window, window)
    filtered = F.conv2d(
        images.flatten(0, 1).unsqueeze(1), (kernel / kernel.sum())[None, None].to(images), padding=radius
    )
    known = torch.zeros(images.shape[2:], dtype=torch.bool)
    known[radius:-radius, radius:-radius] = True
    return filtered.reshape(images.shape), known
