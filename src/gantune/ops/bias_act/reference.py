"""bias_act by its definition: bias, activation, gain, clamp, one step each."""

from torch import Tensor

from gantune.ops.bias_act.activations import ACTIVATIONS
from gantune.ops.bias_act.options import BiasActOptions
from gantune.ops.choose import Form, never_refuses
from gantune.ops.computing_dtype import cast


def bias_act_reference(x: Tensor, b: Tensor | None, options: BiasActOptions) -> Tensor:
    """Compute bias_act step by step as its definition says."""
    if b is not None:
        x = x + spread_bias(b, x, options.dim)
    x = ACTIVATIONS[options.act].function(x, options.alpha)
    if options.gain != 1:
        x = x * options.gain
    if options.clamp is not None:
        x = x.clamp(-options.clamp, options.clamp)
    return x


def spread_bias(b: Tensor, x: Tensor, dim: int) -> Tensor:
    """View `b` [K] so that it is added along dimension `dim` of `x`, in the dtype of `x`."""
    shape = [1] * x.ndim
    shape[dim] = -1
    return cast(b.reshape(shape), x.dtype)


FORM = Form(name="reference", run=bias_act_reference, missing=None, refusal=never_refuses)
