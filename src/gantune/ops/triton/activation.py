"""Scale, noise, bias, activation, gain and clamp as one operator, with exact first and second derivatives.

    result = clamp(gain · act(scale · x + noise + b), −clamp, clamp)

It is bias_act, and what follows a modulated convolution: `scale` [N, C] is its demodulation and `noise`
[N or 1, 1, H, W] its noise.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from gantune.errors import UnsupportedError
from gantune.ops.bias_act.activations import PIECEWISE_LINEAR
from gantune.ops.triton.device_facts import find_facts
from gantune.ops.triton.launch_plans import plan_pointwise
from gantune.ops.triton.launching import compute_dtype, load_kernel, on_device


@dataclass(frozen=True)
class _Rows:
    """Memory as rows × columns; `pixels` are the rows of a sample where channels are the columns."""

    rows: int
    columns: int
    channels: int
    pixels: int
    has_channel_columns: bool


@torch.library.custom_op("gantune::triton_activate", mutates_args=())
def activate(
    x: Tensor,
    scale: Tensor | None,
    noise: Tensor | None,
    b: Tensor | None,
    dim: int,
    act: str,
    alpha: float,
    gain: float,
    clamp: float | None,
) -> Tensor:
    """Compute the definition above; `b` lies along dimension `dim`, `scale` and `noise` need dim 1 of 4."""
    return _run(0, x, None, None, scale, noise, b, dim, act, alpha, gain, clamp)


@torch.library.custom_op("gantune::triton_activate_gradient", mutates_args=())
def activate_gradient(
    dy: Tensor,
    x: Tensor,
    scale: Tensor | None,
    noise: Tensor | None,
    b: Tensor | None,
    dim: int,
    act: str,
    alpha: float,
    gain: float,
    clamp: float | None,
) -> Tensor:
    """Return dy · φ′(z) at z = scale · x + noise + b, for φ the activation with gain and clamp."""
    return _run(1, x, dy, None, scale, noise, b, dim, act, alpha, gain, clamp)


@torch.library.custom_op("gantune::triton_activate_curvature", mutates_args=())
def activate_curvature(
    dy: Tensor,
    g: Tensor,
    x: Tensor,
    scale: Tensor | None,
    noise: Tensor | None,
    b: Tensor | None,
    dim: int,
    act: str,
    alpha: float,
    gain: float,
    clamp: float | None,
) -> Tensor:
    """Return dy · g · φ″(z), what a second derivative needs."""
    return _run(2, x, dy, g, scale, noise, b, dim, act, alpha, gain, clamp)


@activate.register_fake
def _fake(
    x: Tensor,
    scale: Tensor | None,
    noise: Tensor | None,
    b: Tensor | None,
    dim: int,
    act: str,
    alpha: float,
    gain: float,
    clamp: float | None,
) -> Tensor:
    return _new_like(x)


@activate_gradient.register_fake
def _fake_gradient(
    dy: Tensor,
    x: Tensor,
    scale: Tensor | None,
    noise: Tensor | None,
    b: Tensor | None,
    dim: int,
    act: str,
    alpha: float,
    gain: float,
    clamp: float | None,
) -> Tensor:
    return _new_like(x)


@activate_curvature.register_fake
def _fake_curvature(
    dy: Tensor,
    g: Tensor,
    x: Tensor,
    scale: Tensor | None,
    noise: Tensor | None,
    b: Tensor | None,
    dim: int,
    act: str,
    alpha: float,
    gain: float,
    clamp: float | None,
) -> Tensor:
    return _new_like(x)


_Parts = tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]
_Options = tuple[int, str, float, float, float | None]


class _Context(Protocol):
    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]
    options: _Options

    def save_for_backward(self, *tensors: Tensor | None) -> None: ...


def _remember(ctx: _Context, inputs: tuple[object, ...], output: Tensor) -> None:
    """Keep the tensors, which come first, and the five options behind them."""
    ctx.save_for_backward(*inputs[:-5])  # type: ignore[arg-type]
    ctx.options = inputs[-5:]  # type: ignore[assignment]


def _backward(ctx: _Context, dy: Tensor) -> tuple[Tensor | None, ...]:
    x, scale, noise, b = ctx.saved_tensors
    dz = activate_gradient(dy, x, scale, noise, b, *ctx.options)
    return (*_spread(dz, (x, scale, noise, b), ctx.options, ctx.needs_input_grad[:4]), *[None] * 5)


def _backward_gradient(ctx: _Context, g: Tensor) -> tuple[Tensor | None, ...]:
    dy, x, scale, noise, b = ctx.saved_tensors
    needs = ctx.needs_input_grad
    ddy = activate_gradient(g, x, scale, noise, b, *ctx.options) if needs[0] else None
    parts: _Parts = (x, scale, noise, b)
    if not any(needs[1:5]) or ctx.options[1] in PIECEWISE_LINEAR:
        return ddy, *[None] * 9
    dz = activate_curvature(dy, g, x, scale, noise, b, *ctx.options)
    return (ddy, *_spread(dz, parts, ctx.options, needs[1:5]), *[None] * 5)


def _backward_curvature(ctx: _Context, h: Tensor) -> tuple[Tensor | None, ...]:
    dy, g, x, scale, noise, b = ctx.saved_tensors
    needs = ctx.needs_input_grad
    if any(needs[2:6]) and ctx.options[1] not in PIECEWISE_LINEAR:
        raise UnsupportedError(
            f"the triton form of bias_act has no third derivative of {ctx.options[1]}; use the portable form"
        )
    tail = (x, scale, noise, b, *ctx.options)
    return (
        activate_curvature(h, g, *tail) if needs[0] else None,
        activate_curvature(dy, h, *tail) if needs[1] else None,
        *[None] * 9,
    )


def _spread(
    dz: Tensor, parts: _Parts, options: _Options, needs: tuple[bool, ...]
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    """Turn the gradient of z = scale · x + noise + b into those of x, scale, noise and b."""
    x, scale, noise, b = parts
    dx = dscale = dnoise = db = None
    if needs[0]:
        dx = dz if scale is None else dz * scale[:, :, None, None].to(dz.dtype)
    if scale is not None and needs[1]:
        dscale = (dz * x).sum([2, 3], dtype=_sum_dtype(dz)).to(scale.dtype)
    if noise is not None and needs[2]:
        dims = [1, 0] if noise.shape[0] == 1 else [1]
        dnoise = dz.sum(dims, keepdim=True, dtype=_sum_dtype(dz)).to(noise.dtype)
    if b is not None and needs[3]:
        others = [dim for dim in range(dz.ndim) if dim != options[0]]
        db = (dz.sum(others, dtype=_sum_dtype(dz)) if others else dz).to(b.dtype)
    return dx, dscale, dnoise, db


activate.register_autograd(_backward, setup_context=_remember)
activate_gradient.register_autograd(_backward_gradient, setup_context=_remember)
activate_curvature.register_autograd(_backward_curvature, setup_context=_remember)


def _sum_dtype(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _new_like(x: Tensor) -> Tensor:
    """Return uninitialised memory laid out like `x` where that is dense, else contiguous."""
    return torch.empty_like(x) if _is_dense(x) else torch.empty_like(x, memory_format=torch.contiguous_format)


def _is_dense(x: Tensor) -> bool:
    """Tell whether `x` fills its memory in one of the two layouts the kernel knows."""
    return x.is_contiguous() or (x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last))


def _lay_out(tensor: Tensor, like: Tensor) -> Tensor:
    """Return `tensor` in the memory layout of `like`."""
    if tensor.stride() == like.stride():
        return tensor
    return torch.empty_like(like, dtype=tensor.dtype).copy_(tensor)


def _view_rows(x: Tensor, dim: int, *, has_channels: bool) -> _Rows:
    """View dense memory so that a channel is either one row or one column."""
    if not has_channels:
        return _Rows(1, x.numel(), 1, 1, has_channel_columns=False)
    channels = x.shape[dim]
    inner = math.prod(x.shape[dim + 1 :])
    if inner == 1 or not x.is_contiguous():
        # Channels-last memory holds dimension 1 innermost; `_run` copies where the bias lies along another.
        rows = x.numel() // channels
        pixels = x.shape[2] * x.shape[3] if x.ndim == 4 else 1
        return _Rows(rows, channels, channels, pixels, has_channel_columns=True)
    return _Rows(x.numel() // inner, inner, channels, 1, has_channel_columns=False)


def _run(
    order: int,
    x: Tensor,
    first: Tensor | None,
    second: Tensor | None,
    scale: Tensor | None,
    noise: Tensor | None,
    b: Tensor | None,
    dim: int,
    act: str,
    alpha: float,
    gain: float,
    clamp: float | None,
) -> Tensor:
    out = _new_like(x)
    if x.numel() == 0:
        return out
    has_channels = not (scale is None and noise is None and b is None)
    result = out
    if dim != 1 and has_channels and not x.is_contiguous():
        result = torch.empty_like(x, memory_format=torch.contiguous_format)
    source = _lay_out(x, result)
    first, second = (None if t is None else _lay_out(t, result) for t in (first, second))
    view = _view_rows(result, dim, has_channels=has_channels)
    noise_sample = 0
    if noise is not None:
        noise = noise.expand(noise.shape[0], 1, *x.shape[2:]).contiguous()
        noise_sample = 0 if noise.shape[0] == 1 else x.shape[2] * x.shape[3]
    plan = plan_pointwise(view.rows, view.columns, find_facts(x.device))
    scale, b = (None if t is None else t.contiguous() for t in (scale, b))
    absent = result
    with on_device(x):
        load_kernel("pointwise_kernel", "pointwise_kernel")[(plan.num_programs,)](
            source, *(absent if t is None else t for t in (first, second, scale, noise, b)), result,
            view.rows, view.columns, view.channels, view.pixels, noise_sample,
            ACT=act, ALPHA=alpha, GAIN=gain, CLAMP=clamp, ORDER=order,
            HAS_SCALE=scale is not None, HAS_NOISE=noise is not None, HAS_BIAS=b is not None,
            CHANNELS_ALONG_COLUMNS=view.has_channel_columns, COMPUTE=compute_dtype(x),
            BLOCK_ROWS=plan.block_rows, BLOCK_COLUMNS=plan.block_columns, num_warps=plan.num_warps,
        )  # fmt: skip
    return out.copy_(result) if result is not out else out
