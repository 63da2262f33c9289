"""How real numbers map to integers: bits, symmetry, one scale for a tensor or one a channel."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from gantune.errors import UsageError

Granularity = Literal["per_tensor", "per_channel"]
Symmetry = Literal["symmetric", "asymmetric"]
BITS: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 16)


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """Choose the integers of a tensor.

    `symmetric` is signed with zero point 0 and the narrow range ±(2^(bits−1) − 1), so 2 bits are ternary and
    1 bit is binary (±1, no zero). `asymmetric` is unsigned, 0 to 2^bits − 1, with a zero point. Raise
    `UsageError` for other bits.
    """

    bits: int = 8
    symmetry: Symmetry = "symmetric"
    granularity: Granularity = "per_tensor"

    def __post_init__(self) -> None:
        if self.bits not in BITS:
            allowed = ", ".join(map(str, BITS))
            raise UsageError(
                f"A scheme of {self.bits} bits was asked for; the bits must be one of: {allowed}."
            )
        if self.symmetry not in ("symmetric", "asymmetric"):
            raise UsageError(f"The symmetry is {self.symmetry!r}; it must be symmetric or asymmetric.")
        if self.granularity not in ("per_tensor", "per_channel"):
            raise UsageError(
                f"The granularity is {self.granularity!r}; it must be per_tensor or per_channel."
            )

    @property
    def low(self) -> int:
        """Give the smallest integer."""
        return -self.high if self.symmetry == "symmetric" else 0

    @property
    def high(self) -> int:
        """Give the largest integer."""
        if self.symmetry == "symmetric":
            return max(1, (1 << self.bits - 1) - 1)
        return (1 << self.bits) - 1


@dataclass(frozen=True)
class Grid:
    """The real numbers that the integers stand for: (integer − zero_point)·scale.

    `scale` and `zero_point` are scalars, or vectors along `axis` for one scale a channel.
    """

    scale: Tensor
    zero_point: Tensor
    low: int
    high: int
    axis: int | None = None

    def shaped(self, tensor: Tensor, ndim: int) -> Tensor:
        """View `scale` or `zero_point` so that it broadcasts against a tensor of `ndim` dimensions."""
        if self.axis is None:
            return tensor
        return tensor.reshape([-1 if axis == self.axis else 1 for axis in range(ndim)])

    def quantize(self, x: Tensor) -> Tensor:
        """Return the nearest integers (ties to even), clipped to the range, as float32."""
        scaled = torch.round(x / self.shaped(self.scale, x.ndim))
        return (scaled + self.shaped(self.zero_point, x.ndim)).clamp(self.low, self.high)

    def dequantize(self, integers: Tensor) -> Tensor:
        """Return the real numbers that integers stand for."""
        zero_point = self.shaped(self.zero_point, integers.ndim)
        return (integers - zero_point) * self.shaped(self.scale, integers.ndim)


def fit_grid(low: Tensor, high: Tensor, scheme: Scheme, *, axis: int | None = None) -> Grid:
    """Return the grid that covers the range [low, high], widened so that zero is exact.

    A range of nothing but zero gets scale 1 (Jacob et al., arXiv 1712.05877, section 3).
    """
    low, high = low.clamp(max=0), high.clamp(min=0)
    if scheme.symmetry == "symmetric":
        scale = torch.maximum(-low, high) / scheme.high
        scale = torch.where(scale > 0, scale, torch.ones_like(scale))
        return Grid(scale, torch.zeros_like(scale), scheme.low, scheme.high, axis)
    scale = (high - low) / (scheme.high - scheme.low)
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    zero_point = (scheme.low - torch.round(low / scale)).clamp(scheme.low, scheme.high)
    return Grid(scale, zero_point, scheme.low, scheme.high, axis)
