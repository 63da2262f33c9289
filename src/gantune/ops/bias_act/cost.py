"""What bias_act costs at least: one pass over memory."""

import math

from gantune.ops.bias_act.options import BiasActOptions
from gantune.ops.operation_cost import OperationCost

# A transcendental function counts as one operation, as is usual.
ACTIVATION_FLOPS = {
    "linear": 0,
    "relu": 1,
    "lrelu": 2,
    "tanh": 1,
    "sigmoid": 3,
    "elu": 2,
    "selu": 4,
    "softplus": 3,
    "swish": 4,
}


def bias_act_cost(
    x_shape: tuple[int, ...], options: BiasActOptions, *, has_bias: bool, element_bytes: int = 4
) -> OperationCost:
    """Return the cost for an input of `x_shape`."""
    elements = math.prod(x_shape)
    bias_elements = x_shape[options.dim] if has_bias else 0
    return OperationCost(
        flops=elements * (has_bias + activation_flops(options)),
        moved_bytes=(2 * elements + bias_elements) * element_bytes,
    )


def activation_flops(options: BiasActOptions) -> int:
    """Return the floating-point operations of activation, gain and clamp for one element."""
    has_clamp = options.clamp is not None
    return ACTIVATION_FLOPS[options.act] + (options.gain != 1) + 2 * has_clamp
