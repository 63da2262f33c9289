"""Styled convolution: a whole layer of a generator in one pass over memory, without gradients.

    y = clamp(leaky(scale_out · conv(scale_in · x, w) + noise + bias))

with `w` [K, C, 3, 3] and zero padding; or, for a layer that doubles the size, w [4·K, C, 2, 2] holds the
kernels of the four output phases (row phase first), and conv is the interleaved phases filtered by
`smooth` ⊗ `smooth`. Any step is left out by None. Inference on a CPU, float32 tensors; products are float32
by the Winograd method, or bfloat16 with float32 sums.
"""

from typing import cast

import torch
from torch import Tensor

from gantune.errors import UnsupportedError
from gantune.ops.native.library import missing_reason as missing
from gantune.ops.styled_convolution import block, native  # noqa: F401  (register the operators)
from gantune.ops.styled_convolution.options import Products, StyledOptions
from gantune.ops.styled_convolution.projection import project_pixels, project_pixels_reference
from gantune.ops.styled_convolution.reference import styled_convolution_reference

__all__ = [
    "Products",
    "StyledOptions",
    "missing",
    "project_pixels",
    "project_pixels_reference",
    "styled_convolution",
    "styled_convolution_reference",
]


def styled_convolution(x: Tensor, weight: Tensor, options: StyledOptions) -> Tensor:
    """Return the layer's result [N, K, H', W'] in channels-last for `x` [N, C, H, W].

    Raise `UnsupportedError` for another type, device or shape, `UnavailableError` where the kernels are not
    built.
    """
    if x.dtype != torch.float32 or weight.dtype != torch.float32 or x.device.type != "cpu":
        raise UnsupportedError(
            f"Styled convolution takes float32 on a CPU; x is {x.dtype} on {x.device}, "
            f"the weight {weight.dtype}."
        )
    taps = 2 if options.smooth is not None else 3
    if tuple(weight.shape[1:]) != (x.shape[1], taps, taps):
        raise UnsupportedError(
            f"Styled convolution takes a weight [K, {x.shape[1]}, {taps}, {taps}] here, "
            f"not {list(weight.shape)}."
        )
    result = torch.ops.gantune.styled_convolution(
        x,
        weight,
        options.around,
        options.padding,
        options.smooth,
        options.clamp,
        options.products,
    )
    return cast(Tensor, result)
