"""Styled convolution in C++, by the Winograd method, and its registration as an operator of torch.

The operator keeps the plain weight, so that an exported program is small and runs on any processor; the
packed one is made on the first call and kept as long as the weight lives.
"""

import weakref
from math import inf

import torch
from torch import Tensor

from gantune.ops.native.library import count_lanes, run_smooth, run_winograd
from gantune.ops.native.structures import SmoothRequest, WinogradRequest, address
from gantune.ops.styled_convolution import forms

_SCHEMA = (
    "styled_convolution(Tensor x, Tensor weight, Tensor? scale_in, Tensor? scale_out, Tensor? noise, "
    "Tensor? bias, Tensor? slope, int padding, float[]? smooth, float? clamp, str products) -> Tensor"
)
LIBRARY = torch.library.Library("gantune", "FRAGMENT")  # type: ignore[no-untyped-call]
_packed: dict[tuple[int, int, int, int], tuple["weakref.ref[Tensor]", Tensor]] = {}


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
    x = x.contiguous(memory_format=torch.channels_last)
    y = _result(x, weight, padding, smooth)
    # Named, so that what is converted here lives until the kernels are done.
    held = [None if t is None else t.contiguous() for t in (scale_in, scale_out, bias, slope, noise)]
    styles, scale, shift, slopes, noises = held
    after = {
        "scale_out": address(scale),
        "bias": address(shift),
        "slope": address(slopes),
        "noise": address(noises),
        "noise_stride": y.shape[2] * y.shape[3] if noises is not None and noises.shape[0] > 1 else 0,
        "clamp": inf if clamp is None else clamp,
    }
    plain, phased = forms.FORMS[products]
    if smooth is None:
        _convolve(x, y, weight, plain, styles, padding, after)
        return y
    N, K, height, width = y.shape
    dtype = torch.bfloat16 if phased.is_half else torch.float32
    phases = torch.empty(N, K, height + 2, width + 2, dtype=dtype, memory_format=torch.channels_last)
    _convolve(x, phases, weight, phased, styles, 1, {"clamp": inf})
    request = SmoothRequest(
        is_half=phased.is_half,
        x=phases.data_ptr(),
        y=y.data_ptr(),
        N=N,
        K=K,
        H=height,
        W=width,
        taps=tuple(smooth),
        **after,
    )
    run_smooth(request, num_threads=torch.get_num_threads())
    return y


def _convolve(
    x: Tensor,
    y: Tensor,
    weight: Tensor,
    form: forms.Form,
    styles: Tensor | None,
    padding: int,
    after: dict[str, int | float | None],
) -> None:
    request = WinogradRequest(
        x=x.data_ptr(),
        y=y.data_ptr(),
        weight=_pack_once(weight, form).data_ptr(),
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


def _result(x: Tensor, weight: Tensor, padding: int, smooth: list[float] | None) -> Tensor:
    N, _, H, W = x.shape
    if smooth is None:
        shape = (N, weight.shape[0], H + 2 * padding - 2, W + 2 * padding - 2)
    else:
        shape = (N, weight.shape[0] // 4, 2 * H, 2 * W)
    return torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=torch.channels_last)


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
    return _result(x, weight, padding, smooth)


LIBRARY.define(_SCHEMA)  # type: ignore[no-untyped-call]
LIBRARY.impl("styled_convolution", _run, "CPU")  # type: ignore[no-untyped-call]
torch.library.register_fake("gantune::styled_convolution", _fake, lib=LIBRARY)
