"""bias_act: add a bias, apply an activation, scale, clamp.

    result = clamp(gain · act(x + b), −clamp, clamp)

with b along dimension `dim`. The gain is by default √2 for relu, lrelu and swish, else 1; alpha is the
slope of lrelu for negative values, by default 0.2.
"""

from torch import Tensor

from gantune.errors import UsageError
from gantune.ops.bias_act import native, portable, reference, triton
from gantune.ops.bias_act.options import BiasActOptions, parse_options
from gantune.ops.choose import Operation

OPERATION: Operation[Tensor | None, BiasActOptions] = Operation(
    "bias_act",
    forms=(
        native.FORM,
        triton.FORM,
        portable.FORM,
        reference.FORM,
    ),
)


def bias_act(
    x: Tensor,
    b: Tensor | None = None,
    dim: int = 1,
    act: str = "linear",
    alpha: float | None = None,
    gain: float | None = None,
    clamp: float | None = None,
    *,
    implementation: str | None = None,
) -> Tensor:
    """Add bias `b` [K] along dimension `dim` of `x`, then apply activation, gain and clamp.

    `act` is linear, relu, lrelu, tanh, sigmoid, elu, selu, softplus or swish. Raises UsageError for another
    one, and where `b` does not have one value for each index of the dimension.
    """
    options = parse_options(dim, act, alpha, gain, clamp)
    check_bias(x, b, dim)
    return OPERATION.run(implementation, x, b, options)


def check_bias(x: Tensor, b: Tensor | None, dim: int) -> None:
    """Raise UsageError unless `b` is None or one value for each index of dimension `dim` of `x`."""
    if b is None:
        return
    if not 0 <= dim < x.ndim:
        raise UsageError(f"dim is between 0 and {x.ndim - 1} for this x, found {dim}")
    if b.ndim != 1 or b.shape[0] != x.shape[dim]:
        raise UsageError(f"b has shape [{x.shape[dim]}] for this x and dim {dim}, found {list(b.shape)}")
