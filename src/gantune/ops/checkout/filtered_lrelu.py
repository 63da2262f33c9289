"""`torch_utils.ops.filtered_lrelu`, run by gantune."""

import math
from collections.abc import Sequence

from torch import Tensor

from gantune.ops.checkout.implementation import implementation_of
from gantune.ops.filtered_lrelu import filtered_lrelu as gantune_filtered_lrelu

__all__ = ["filtered_lrelu"]


def filtered_lrelu(
    x: Tensor,
    fu: Tensor | None = None,
    fd: Tensor | None = None,
    b: Tensor | None = None,
    up: int = 1,
    down: int = 1,
    padding: int | Sequence[int] = 0,
    gain: float = math.sqrt(2),
    slope: float = 0.2,
    clamp: float | None = None,
    flip_filter: bool = False,
    impl: str = "cuda",
) -> Tensor:
    """Add bias, upsample, apply leaky ReLU with gain and clamp, and downsample."""
    return gantune_filtered_lrelu(
        x, fu, fd, b, up, down, padding, gain, slope, clamp, flip_filter,
        implementation=implementation_of(impl),
    )  # fmt: skip
