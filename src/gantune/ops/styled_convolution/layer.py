"""One layer as the kernels take it: a packed weight, and what is done around the convolution.

The operators take what stands around a convolution as one list, `around`: scale_in [N, C], scale_out [N, K],
noise [N or 1, 1, H, W], bias [K], slope [K], each None where it is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TypedDict

import torch
from torch import Tensor

from gantune.errors import UnsupportedError
from gantune.ops.native.library import count_lanes
from gantune.ops.native.structures import address
from gantune.ops.styled_convolution.forms import FORMS, Form


class After(TypedDict):
    """What the kernels do behind the convolution; addresses, None where a step is left out."""

    scale_out: int | None
    bias: int | None
    slope: int | None
    noise: int | None
    noise_stride: int
    clamp: float


@dataclass(frozen=True)
class Layer:
    """Hold a layer of `K` output channels; its tensors are contiguous and live as long as it does."""

    packed: Tensor
    K: int
    form: Form
    styles: Tensor | None
    scale: Tensor | None
    noise: Tensor | None
    bias: Tensor | None
    slope: Tensor | None
    clamp: float | None

    def scale_in(self, sample: int) -> int | None:
        """Return where the input scales of the samples from `sample` on lie."""
        return address_of_sample(self.styles, sample)

    def after(self, sample: int) -> After:
        """Describe the end of the layer for the samples from `sample` on."""
        is_shared = self.noise is None or self.noise.shape[0] == 1
        return {
            "scale_out": address_of_sample(self.scale, sample),
            "bias": address(self.bias),
            "slope": address(self.slope),
            "noise": address_of_sample(self.noise, sample),
            "noise_stride": 0 if self.noise is None or is_shared else self.noise[0].numel(),
            "clamp": inf if self.clamp is None else self.clamp,
        }


def make_layer(
    packed: Tensor,
    rows: int,
    around: Sequence[Tensor | None],
    smooth: Sequence[float] | None,
    clamp: float | None,
    products: str,
) -> Layer:
    """Prepare a layer whose plain weight had `rows` rows; with `smooth` it is an up-sampling one.

    Raise `UnsupportedError` for a weight that was packed for registers of another size, which the kernels
    would misread.
    """
    form = form_of(products, smooth)
    columns = packed.shape[3]
    if columns != 2 * count_lanes() or packed.dtype != (torch.bfloat16 if form.is_half else torch.float32):
        raise UnsupportedError(
            f"The weight was packed for registers of {columns // 2} floats as {packed.dtype}; this "
            f"instruction set has {count_lanes()} and the products are {form}; load the artifact again."
        )
    tensors = (None if tensor is None else tensor.contiguous() for tensor in around)
    styles, scale, noise, bias, slope = tensors
    return Layer(packed, rows // form.num_phases, form, styles, scale, noise, bias, slope, clamp)


def form_of(products: str, smooth: Sequence[float] | None) -> Form:
    """Return the form of a plain layer, or with `smooth` that of an up-sampling one."""
    return FORMS[products][0 if smooth is None else 1]


def address_of_sample(values: Tensor | None, sample: int) -> int | None:
    """Return where one sample of [N or 1, …] lies, or None."""
    return None if values is None else values[sample if values.shape[0] > 1 else 0].data_ptr()
