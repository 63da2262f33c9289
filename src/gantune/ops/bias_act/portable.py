"""bias_act in as few passes over memory as plain torch allows."""

import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.ops.bias_act.activations import ACTIVATIONS, PIECEWISE_LINEAR
from gantune.ops.bias_act.options import BiasActOptions
from gantune.ops.bias_act.reference import bias_act_reference, spread_bias
from gantune.ops.choose import Form, never_refuses


def bias_act_portable(x: Tensor, b: Tensor | None, options: BiasActOptions) -> Tensor:
    """Compute bias_act: scale and bias in one pass, then activation and clamp in place."""
    if x.requires_grad and not torch.compiler.is_compiling():
        # Training keeps the definition's order of roundings: the R1 gradient of a discriminator's bias
        # lives on the last digits, and nothing could be overwritten anyway.
        return bias_act_reference(x, b, options)
    if options.act not in PIECEWISE_LINEAR or options.gain <= 0:
        return _activate_then_scale(x, b, options)
    # act(gain · x) = gain · act(x), so the gain rides along with the bias.
    scaled = _scale_and_add(x, b, options)
    slope = {"linear": 1.0, "relu": 0.0, "lrelu": options.alpha}[options.act]
    return activate_lrelu(scaled, slope=slope, clamp=options.clamp, may_overwrite=scaled is not x)


def activate_lrelu(x: Tensor, *, slope: float, clamp: float | None, may_overwrite: bool) -> Tensor:
    """Apply leaky ReLU and clamp, in `x` itself where that is allowed and autograd does not need it."""
    if slope != 1:
        overwrites = may_overwrite and not _is_recorded(x)
        x = F.relu(x, inplace=overwrites) if slope == 0 else F.leaky_relu(x, slope, inplace=overwrites)
        may_overwrite = True
    return _clamp(x, clamp, may_overwrite=may_overwrite)


def _scale_and_add(x: Tensor, b: Tensor | None, options: BiasActOptions) -> Tensor:
    if b is None:
        return x if options.gain == 1 else x * options.gain
    bias = spread_bias(b, x, options.dim)
    if options.gain == 1:
        return x + bias
    return torch.add(bias * options.gain, x, alpha=options.gain)


def _activate_then_scale(x: Tensor, b: Tensor | None, options: BiasActOptions) -> Tensor:
    if b is not None:
        x = x + spread_bias(b, x, options.dim)
    x = ACTIVATIONS[options.act].function(x, options.alpha) * options.gain
    return _clamp(x, options.clamp, may_overwrite=True)


def _clamp(x: Tensor, clamp: float | None, *, may_overwrite: bool) -> Tensor:
    if clamp is None:
        return x
    if may_overwrite and not _is_recorded(x):
        return x.clamp_(-clamp, clamp)
    return x.clamp(-clamp, clamp)


def _is_recorded(x: Tensor) -> bool:
    """Tell whether autograd or a tracing compiler follows `x`, so that it must not be overwritten."""
    return x.requires_grad or torch.compiler.is_compiling()


FORM = Form(name="portable", run=bias_act_portable, missing=None, refusal=never_refuses)
