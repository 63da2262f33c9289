"""`torch_utils.ops.bias_act`, run by gantune."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from gantune.ops.bias_act import bias_act as gantune_bias_act
from gantune.ops.bias_act.activations import ACTIVATIONS
from gantune.ops.checkout.implementation import implementation_of

__all__ = ["activation_funcs", "bias_act"]


@dataclass(frozen=True)
class ActivationFunction:
    """An activation under the names that networks of the field read: function, default alpha and gain."""

    func: Callable[[Tensor, float], Tensor]
    def_alpha: float
    def_gain: float


activation_funcs = {
    name: ActivationFunction(
        activation.function, def_alpha=activation.default_alpha, def_gain=activation.default_gain
    )
    for name, activation in ACTIVATIONS.items()
}


def bias_act(
    x: Tensor,
    b: Tensor | None = None,
    dim: int = 1,
    act: str = "linear",
    alpha: float | None = None,
    gain: float | None = None,
    clamp: float | None = None,
    impl: str = "cuda",
) -> Tensor:
    """Add bias `b` along dimension `dim` of `x`, then apply activation, gain and clamp."""
    return gantune_bias_act(x, b, dim, act, alpha, gain, clamp, implementation=implementation_of(impl))
