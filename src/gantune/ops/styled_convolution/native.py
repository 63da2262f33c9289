"""Styled convolution in C++, by the Winograd method, and its registration as two operators of torch.

`styled_convolution` keeps the plain weight, so that an exported program is small and runs on any processor;
the packed one is made on the first call and kept as long as the weight lives. A program loaded to run on this
processor calls `styled_convolution_packed` instead, and needs the plain weight no more. Both take what stands
around the convolution as `layer.py` says.
"""

import weakref
from collections.abc import Sequence

import torch
from torch import Tensor

from gantune.ops.native.library import count_lanes, run_winograd
from gantune.ops.native.operators import native_operator
from gantune.ops.native.result_arena import empty_channels_last
from gantune.ops.native.structures import WinogradRequest
from gantune.ops.styled_convolution import forms
from gantune.ops.styled_convolution.layer import form_of, make_layer
from gantune.ops.styled_convolution.upsampling import upsample_in_bands

_packed: dict[tuple[int, int, int, int], tuple["weakref.ref[Tensor]", Tensor]] = {}


def pack_for(weight: Tensor, *, smooth: list[float] | None, products: str) -> Tensor:
    """Pack a plain weight as `styled_convolution_packed` takes it on this processor."""
    return forms.pack_weight(weight.detach(), form_of(products, smooth), lanes=count_lanes())


@native_operator("styled_convolution")
def _run(
    x: Tensor,
    weight: Tensor,
    around: Sequence[Tensor | None],
    padding: int,
    smooth: Sequence[float] | None,
    clamp: float | None,
    products: str,
) -> Tensor:
    packed = _pack_once(weight, form_of(products, smooth))
    return _compute(x, packed, weight.shape[0], around, padding, smooth, clamp, products)


def _compute(
    x: Tensor,
    packed: Tensor,
    rows: int,
    around: Sequence[Tensor | None],
    padding: int,
    smooth: Sequence[float] | None,
    clamp: float | None,
    products: str,
) -> Tensor:
    layer = make_layer(packed, rows, around, smooth, clamp, products)
    x = x.contiguous(memory_format=torch.channels_last)
    y = empty_channels_last(_result_shape(x, rows, padding, smooth), x.dtype)
    if smooth is not None:
        upsample_in_bands(x, y, layer, smooth)
        return y
    request = WinogradRequest(
        x=x.data_ptr(),
        y=y.data_ptr(),
        weight=packed.data_ptr(),
        scale_in=layer.scale_in(0),
        N=x.shape[0],
        C=x.shape[1],
        K=layer.K,
        H=x.shape[2],
        W=x.shape[3],
        out_h=y.shape[2],
        out_w=y.shape[3],
        form=layer.form.number,
        padding=padding,
        **layer.after(0),
    )
    run_winograd(request, most_tiles=layer.form.most_tiles, num_threads=torch.get_num_threads())
    return y


_run_packed = native_operator("styled_convolution_packed")(_compute)


def _pack_once(weight: Tensor, form: forms.Form) -> Tensor:
    lanes = count_lanes()
    version = 0 if weight.is_inference() else weight._version
    key = (weight.data_ptr(), version, form.number, lanes)
    found = _packed.get(key)
    if found is not None and found[0]() is not None:
        return found[1]
    packed = forms.pack_weight(weight.detach(), form, lanes=lanes)
    _packed[key] = (weakref.ref(weight, lambda _: _packed.pop(key, None)), packed)
    return packed


def _result_shape(
    x: Tensor, rows: int, padding: int, smooth: Sequence[float] | None
) -> tuple[int, int, int, int]:
    """Return [N, K, H', W'] for a plain weight of `rows` rows."""
    N, _, H, W = x.shape
    if smooth is None:
        return N, rows, H + 2 * padding - 2, W + 2 * padding - 2
    return N, rows // 4, 2 * H, 2 * W


@_run.register_fake
def _describe(
    x: Tensor,
    weight: Tensor,
    around: Sequence[Tensor | None],
    padding: int,
    smooth: Sequence[float] | None,
    *_: object,
) -> Tensor:
    return _describe_packed(x, weight, weight.shape[0], around, padding, smooth)


@_run_packed.register_fake
def _describe_packed(
    x: Tensor,
    packed: Tensor,
    rows: int,
    around: Sequence[Tensor | None],
    padding: int,
    smooth: Sequence[float] | None,
    *_: object,
) -> Tensor:
    return x.new_empty(_result_shape(x, rows, padding, smooth)).contiguous(memory_format=torch.channels_last)
