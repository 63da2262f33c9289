"""bias_act in C++: one pass over memory.

The gradient of linear, relu and lrelu is another such pass, and linear in what comes in; the gradients of the
other activations, and so their second derivatives, are operations of torch around the forward pass.
"""

from math import inf

import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.ops.bias_act.activations import PIECEWISE_LINEAR
from gantune.ops.bias_act.options import BiasActOptions
from gantune.ops.bias_act.reference import spread_bias
from gantune.ops.choose import Form
from gantune.ops.computing_dtype import computing_dtype
from gantune.ops.native import structures as c
from gantune.ops.native.derivatives import Context
from gantune.ops.native.library import missing_reason, run_pointwise
from gantune.ops.native.operators import native_operator
from gantune.ops.native.qualification import refuse

# In the order of plan.h.
KINDS = ("linear", "relu", "lrelu", "tanh", "sigmoid", "elu", "selu", "softplus", "swish")


def bias_act_native(x: Tensor, b: Tensor | None, options: BiasActOptions) -> Tensor:
    """Compute bias_act in one pass over memory."""
    clamp = inf if options.clamp is None else options.clamp
    result: Tensor = torch.ops.gantune.bias_act(
        x, b, options.dim, options.act, options.alpha, options.gain, clamp
    )
    return result


@native_operator("bias_act")
def _bias_act(
    x: Tensor, b: Tensor | None, dim: int, act: str, alpha: float, gain: float, clamp: float
) -> Tensor:
    x = _make_dense(x)
    y = torch.empty_like(x)
    b = c.as_floats(b)
    run_pointwise(_describe(x, y, b, dim, act, alpha, gain, clamp), num_threads=torch.get_num_threads())
    return y


@_bias_act.register_fake
def _(x: Tensor, b: Tensor | None, dim: int, act: str, alpha: float, gain: float, clamp: float) -> Tensor:
    return torch.empty_like(_make_dense(x))


@native_operator("bias_act_gradient")
def _gradient(
    dy: Tensor, x: Tensor, b: Tensor | None, dim: int, act: str, alpha: float, gain: float, clamp: float
) -> Tensor:
    x = _make_dense(x)
    dy = dy.to(x.dtype).contiguous(memory_format=_format(x))
    dx = torch.empty_like(x)
    b = c.as_floats(b)
    request = _describe(x, dx, b, dim, act, alpha, gain, clamp)
    request.gradient = c.address(dy)
    run_pointwise(request, num_threads=torch.get_num_threads())
    return dx


@_gradient.register_fake
def _(
    dy: Tensor, x: Tensor, b: Tensor | None, dim: int, act: str, alpha: float, gain: float, clamp: float
) -> Tensor:
    return torch.empty_like(_make_dense(x))


def _format(x: Tensor) -> torch.memory_format:
    if x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous():
        return torch.channels_last
    return torch.contiguous_format


def _make_dense(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=_format(x))


def _describe(
    x: Tensor, y: Tensor, b: Tensor | None, dim: int, act: str, alpha: float, gain: float, clamp: float
) -> c.PointwiseRequest:
    """View dense memory as [samples, channels, pixels] or [samples, pixels, channels]."""
    samples, channels, pixels, channels_last = 1, 1, x.numel(), False
    if b is not None and _format(x) == torch.channels_last:
        # The memory's order of dimensions is 0, 2, 3, 1.
        sizes, place = [x.shape[i] for i in (0, 2, 3, 1)], (0, 3, 1, 2)[dim]
        samples, channels, pixels = _split(sizes, place)
    elif b is not None:
        samples, channels, pixels = _split(list(x.shape), dim)
    if b is not None and pixels == 1:
        samples, pixels, channels_last = 1, samples, True
    return c.PointwiseRequest(
        x=c.address(x),
        y=c.address(y),
        bias=c.address(b),
        samples=samples,
        channels=channels,
        pixels=pixels,
        channels_last=channels_last,
        type=c.ELEMENT_TYPES[x.dtype],
        kind=KINDS.index(act),
        alpha=alpha,
        gain=gain,
        clamp=clamp,
    )


def _split(sizes: list[int], place: int) -> tuple[int, int, int]:
    before = after = 1
    for size in sizes[:place]:
        before *= size
    for size in sizes[place + 1 :]:
        after *= size
    return before, sizes[place], after


_Call = tuple[int, str, float, float, float]
_Inputs = tuple[Tensor, Tensor | None, int, str, float, float, float]


def _remember(ctx: Context[_Call], inputs: _Inputs, output: Tensor) -> None:
    x, b, dim, act, alpha, gain, clamp = inputs
    ctx.save_for_backward(x, b)
    ctx.call = (dim, act, alpha, gain, clamp)


def _differentiate(ctx: Context[_Call], dy: Tensor) -> tuple[Tensor | None, ...]:
    x, b = ctx.saved_tensors
    assert x is not None
    dim, act, alpha, gain, clamp = ctx.call
    if act in PIECEWISE_LINEAR:
        dx = torch.ops.gantune.bias_act_gradient(dy, x, b, dim, act, alpha, gain, clamp)
    else:
        dx = _differentiate_smooth(dy, x if b is None else x + spread_bias(b, x, dim), act, gain, clamp)
    if b is None:
        return dx, *[None] * 6
    others = [i for i in range(x.ndim) if i != dim]
    # torch sums over everything where the list of dimensions is empty.
    db = dx.sum(dim=others).to(b.dtype) if others else dx
    return dx, db, *[None] * 5


def _differentiate_smooth(dy: Tensor, x: Tensor, act: str, gain: float, clamp: float) -> Tensor:
    """Return dy · d/dx in operations that torch can differentiate again."""
    x = x.to(computing_dtype(x.dtype))
    value, slope = _value_and_slope(x, act)
    dx = dy * (slope * gain)
    if clamp != inf:
        dx = torch.where((value * gain).abs() <= clamp, dx, 0)
    return dx.to(dy.dtype)


def _value_and_slope(x: Tensor, act: str) -> tuple[Tensor, Tensor]:
    if act == "tanh":
        y = torch.tanh(x)
        return y, 1 - y * y
    s = _activate(x, "sigmoid")
    if act == "sigmoid":
        return s, s * (1 - s)
    if act == "softplus":
        return _activate(x, "softplus"), s
    if act == "swish":
        return x * s, s * (1 + x * (1 - s))
    alpha, scale = (1.0, 1.0) if act == "elu" else (1.6732632423543772, 1.0507009873554805)
    below = scale * alpha * torch.exp(x.clamp_max(0))
    y = F.elu(x) if act == "elu" else F.selu(x)
    return y, torch.where(x > 0, scale, below)


def _activate(x: Tensor, act: str) -> Tensor:
    """Run our own kernel: torch's gives other bits where the piece of a thread ends."""
    y: Tensor = torch.ops.gantune.bias_act(x, None, 1, act, 0.0, 1.0, inf)
    return y


def _remember_gradient(
    ctx: Context[_Call],
    inputs: tuple[Tensor, Tensor, Tensor | None, int, str, float, float, float],
    output: Tensor,
) -> None:
    _, x, b, dim, act, alpha, gain, clamp = inputs
    ctx.save_for_backward(x, b)
    ctx.call = (dim, act, alpha, gain, clamp)


def _differentiate_gradient(ctx: Context[_Call], ddx: Tensor) -> tuple[Tensor | None, ...]:
    x, b = ctx.saved_tensors
    ddy = torch.ops.gantune.bias_act_gradient(ddx, x, b, *ctx.call)
    # Straight lines: the gradient depends on x and b only through a step, whose derivative is zero.
    return ddy, None, None, None, None, None, None, None


_bias_act.register_autograd(_differentiate, setup_context=_remember)
_gradient.register_autograd(_differentiate_gradient, setup_context=_remember_gradient)


def _refuse(x: Tensor, b: Tensor | None, options: BiasActOptions) -> str | None:
    return refuse(x)


FORM = Form(name="native", run=bias_act_native, missing=missing_reason(), refusal=_refuse, devices=("cpu",))
