"""The one way images enter the metrics: RGB values in [0, 255], whatever range they came in."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gantune.errors import QualityError, UnsupportedError, UsageError
from gantune.records.interface import OutputSpec


@dataclass(frozen=True)
class Pixels:
    """Hold images [N, 3, H, W], floating values in [0, 255]; `is_rounded` where they are whole numbers.

    Made by `pixels_from_bytes` and `pixels_from_output` alone, so that no metric has to guess a range.
    """

    values: Tensor
    is_rounded: bool

    def __post_init__(self) -> None:
        shape = list(self.values.shape)
        if not self.values.is_floating_point() or len(shape) != 4 or shape[1] != 3 or 0 in shape:
            raise UsageError(f"pixels are {self.values.dtype} {shape}; they must be floating [N, 3, H, W]")

    def __len__(self) -> int:
        return len(self.values)


def pixels_from_bytes(images: NDArray[np.uint8]) -> Pixels:
    """Take bytes [N, C, H, W]; one channel is repeated. Raises `UsageError` for any other type."""
    if images.dtype != np.uint8:
        raise UsageError(
            f"images are {images.dtype}; bytes (uint8) are taken as they are, and floats only through "
            "pixels_from_output, with their declared range"
        )
    return Pixels(_as_rgb(torch.tensor(images).float()), is_rounded=True)


def pixels_from_output(
    images: NDArray[np.floating] | Tensor, output: OutputSpec, *, is_rounded: bool = True
) -> Pixels:
    """Map a network's images [N, C, H, W] from [output.low, output.high] to [0, 255] and clip.

    `is_rounded` rounds to 8 bits, as a picture file would. Raises `QualityError` where values are not finite,
    `UsageError` where most lie outside the declared range: they are then in another range.
    """
    values = torch.as_tensor(images)
    if output.kind != "image" or values.ndim != 4 or not values.is_floating_point():
        raise UsageError(
            f"the output is {output.kind} {values.dtype} {list(values.shape)}; metrics take floating images "
            "[N, C, H, W]"
        )
    if not bool(values.isfinite().all()):
        raise QualityError(
            f"{int((~values.isfinite()).sum())} of {values.numel()} values are NaN or infinite"
        )
    unit = (values - output.low) / output.value_range
    outside = float(((unit < 0) | (unit > 1)).double().mean())
    if outside > 0.5:
        raise UsageError(
            f"{outside:.0%} of the values lie outside the declared range [{output.low:g}, {output.high:g}] "
            f"(found {float(values.min()):.3g} to {float(values.max()):.3g}); declare the range they have"
        )
    scaled = unit.clamp(0, 1) * 255
    return Pixels(_as_rgb(scaled.round() if is_rounded else scaled), is_rounded=is_rounded)


def _as_rgb(values: Tensor) -> Tensor:
    if values.ndim != 4 or values.shape[1] not in (1, 3):
        raise UnsupportedError(f"images have shape {list(values.shape)}; metrics take 1 or 3 channels")
    return values.expand(-1, 3, -1, -1) if values.shape[1] == 1 else values
