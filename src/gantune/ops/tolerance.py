"""How far two forms of an operation may differ, and why. No other file holds such a bound."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Tolerance:
    """A bound on max |a − b|, relative to max(1, max |b|), and the reason for its size."""

    relative: float
    reason: str

    def allows(self, found: Tensor, expected: Tensor) -> bool:
        """Tell whether `found` is finite wherever `expected` is and within the bound of it."""
        return largest_error(found, expected) <= self.relative


def largest_error(found: Tensor, expected: Tensor) -> float:
    """Return max |found − expected| / max(1, max |expected|) in float64; infinite where one is NaN."""
    if found.shape != expected.shape:
        return float("inf")
    if expected.numel() == 0:
        return 0.0
    found, expected = found.detach().double(), expected.detach().double()
    error = (found - expected).abs().max() / expected.abs().max().clamp_min(1)
    return float("inf") if error.isnan() else error.item()


EXACT = Tolerance(1e-4, "float32 with another order of summation, through a whole network")

DERIVATIVES = Tolerance(
    1e-9, "float64; the derivatives of a demodulation are small differences of large numbers (2⁻⁵³ · 10⁶)"
)

# A form against the reference in float64 of the same rounded inputs.
BY_DTYPE: dict[torch.dtype, Tolerance] = {
    torch.float64: Tolerance(1e-12, "another order of summing at most some thousand products of 2⁻⁵³"),
    torch.float32: Tolerance(1e-5, "another order of summing at most some thousand products of 2⁻²⁴"),
    torch.bfloat16: Tolerance(
        4 * 2**-8, "8 bits of mantissa; a scaled input, a weight and the result are each rounded once"
    ),
    torch.float16: Tolerance(
        4 * 2**-11, "11 bits of mantissa; a scaled input, a weight and the result are each rounded once"
    ),
}
