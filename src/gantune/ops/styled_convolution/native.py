"""Styled convolution in C++, by the Winograd method, and its registration as two operators of torch.

`styled_convolution` keeps the plain weight, so that an exported program is small and runs on any processor;
the packed one is made on the first call and kept as long as the weight lives. A program loaded to run on this
processor calls `styled_convolution_packed` instead, and needs the plain weight no more.
"""

import weakref
from math import inf

import torch
from torch import Tensor

from gantune.errors import UnsupportedError
from gantune.ops.native.library import count_lanes, run_winograd
from gantune.ops.native.result_arena import empty_channels_last
from gantune.ops.native.structures import WinogradRequest, address
from gantune.ops.styled_convolution import forms
from gantune.ops.styled_convolution.upsampling import After, upsample_in_bands

_REST = (
    "Tensor? scale_in, Tensor? scale_out, Tensor? noise, Tensor? bias, Tensor? slope, int padding, "
    "float[]? smooth, float? clamp, str products) -> Tensor"
)
LIBRARY = torch.library.Library("gantune", "FRAGMENT")  # type: ignore[no-untyped-call]
_packed: dict[tuple[int, int, int, int], tuple["weakref.ref[Tensor]", Tensor]] = {}


def pack_for(weight: Tensor, *, smooth: list[float] | None, products: str) -> Tensor:
    """Pack a plain weight as `styled_convolution_packed` takes it on this processor."""
    return forms.pack_weight(weight.detach(), form_of(products, smooth), lanes=count_lanes())


def form_of(products: str, smooth: list[float] | None) -> forms.Form:
    """Return the form of a plain layer, or with `smooth` that of an up-sampling one."""
    return forms.FORMS[products][0 if smooth is None else 1]


def _run(
    x: Tensor,
    weight: Tensor,
    scale_in: Tensor | None,
    scale_out: Tensor | None,
    noise: Tensor | None,
    bias: Tensor | None,
    slope: Tensor | None,
    padding: int,
    smooth: list[float] | None,
    clamp: float | None,
    products: str,
) -> Tensor:
    packed = _pack_once(weight, form_of(products, smooth))
    return _run_packed(
        x, packed, weight.shape[0], scale_in, scale_out, noise, bias, slope, padding, smooth, clamp, products
    )


def _run_packed(
    x: Tensor,
    packed: Tensor,
    rows: int,
    scale_in: Tensor | None,
    scale_out: Tensor | None,
    noise: Tensor | None,
    bias: Tensor | None,
    slope: Tensor | None,
    padding: int,
    smooth: list[float] | None,
    clamp: float | None,
    products: str,
) -> Tensor:
    form = form_of(products, smooth)
    check_packed(packed, form)
    x = x.contiguous(memory_format=torch.channels_last)
    y = empty_channels_last(_result_shape(x, rows, padding, smooth), x.dtype)
    # Named, so that what is converted here lives until the kernels are done.
    held = [None if t is None else t.contiguous() for t in (scale_in, scale_out, bias, slope, noise)]
    styles, scale, shift, slopes, noises = held
    after: After = {
        "scale_out": address(scale),
        "bias": address(shift),
        "slope": address(slopes),
        "noise": address(noises),
        "noise_stride": y.shape[2] * y.shape[3] if noises is not None and noises.shape[0] > 1 else 0,
        "clamp": inf if clamp is None else clamp,
    }
    if smooth is not None:
        upsample_in_bands(x, y, packed, form, styles, tuple(smooth), after)
        return y
    request = WinogradRequest(
        x=x.data_ptr(),
        y=y.data_ptr(),
        weight=packed.data_ptr(),
        scale_in=address(styles),
        N=x.shape[0],
        C=x.shape[1],
        K=y.shape[1],
        H=x.shape[2],
        W=x.shape[3],
        out_h=y.shape[2],
        out_w=y.shape[3],
        form=form.number,
        padding=padding,
        **after,
    )
    run_winograd(request, most_tiles=form.most_tiles, num_threads=torch.get_num_threads())
    return y


def check_packed(packed: Tensor, form: forms.Form) -> None:
    """Refuse a weight that was packed for registers of another size, which the kernels would misread."""
    columns = packed.shape[3]
    if columns != 2 * count_lanes() or packed.dtype != (torch.bfloat16 if form.is_half else torch.float32):
        raise UnsupportedError(
            f"The weight was packed for registers of {columns // 2} floats as {packed.dtype}; this "
            f"instruction set has {count_lanes()} and the products are {form}; load the artifact again."
        )


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
    x: Tensor, rows: int, padding: int, smooth: list[float] | None
) -> tuple[int, int, int, int]:
    """Return [N, K, H', W'] for a plain weight of `rows` rows."""
    N, _, H, W = x.shape
    if smooth is None:
        return N, rows, H + 2 * padding - 2, W + 2 * padding - 2
    return N, rows // 4, 2 * H, 2 * W


def _run_fake(x: Tensor, rows: int, padding: int, smooth: list[float] | None) -> Tensor:
    return x.new_empty(_result_shape(x, rows, padding, smooth)).contiguous(memory_format=torch.channels_last)


def _fake(
    x: Tensor,
    weight: Tensor,
    scale_in: Tensor | None,
    scale_out: Tensor | None,
    noise: Tensor | None,
    bias: Tensor | None,
    slope: Tensor | None,
    padding: int,
    smooth: list[float] | None,
    clamp: float | None,
    products: str,
) -> Tensor:
    return _run_fake(x, weight.shape[0], padding, smooth)


def _fake_packed(
    x: Tensor,
    packed: Tensor,
    rows: int,
    scale_in: Tensor | None,
    scale_out: Tensor | None,
    noise: Tensor | None,
    bias: Tensor | None,
    slope: Tensor | None,
    padding: int,
    smooth: list[float] | None,
    clamp: float | None,
    products: str,
) -> Tensor:
    return _run_fake(x, rows, padding, smooth)


LIBRARY.define(f"styled_convolution(Tensor x, Tensor weight, {_REST}")  # type: ignore[no-untyped-call]
LIBRARY.define(f"styled_convolution_packed(Tensor x, Tensor packed, int rows, {_REST}")  # type: ignore[no-untyped-call]
for _name, _implementation, _description in (
    ("styled_convolution", _run, _fake),
    ("styled_convolution_packed", _run_packed, _fake_packed),
):
    LIBRARY.impl(_name, _implementation, "CPU")  # type: ignore[no-untyped-call]
    torch.library.register_fake(f"gantune::{_name}", _description, lib=LIBRARY)
