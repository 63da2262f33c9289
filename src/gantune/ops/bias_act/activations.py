"""The activations of bias_act, with the gain and slope each has by default."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

LRELU_SLOPE = 0.2
# Straight on both sides of zero: a positive gain may come before them, and they have no second derivative.
PIECEWISE_LINEAR = ("linear", "relu", "lrelu")


@dataclass(frozen=True)
class Activation:
    """A function of (x, alpha); only lrelu reads alpha. `default_gain` roughly keeps the variance."""

    name: str
    function: Callable[[Tensor, float], Tensor]
    default_gain: float = 1.0
    default_alpha: float = 0.0


def _swish(x: Tensor, _: float) -> Tensor:
    return torch.sigmoid(x) * x


ACTIVATIONS: dict[str, Activation] = {
    activation.name: activation
    for activation in (
        Activation("linear", lambda x, _: x),
        Activation("relu", lambda x, _: F.relu(x), default_gain=math.sqrt(2)),
        Activation("lrelu", F.leaky_relu, default_gain=math.sqrt(2), default_alpha=LRELU_SLOPE),
        Activation("tanh", lambda x, _: torch.tanh(x)),
        Activation("sigmoid", lambda x, _: torch.sigmoid(x)),
        Activation("elu", lambda x, _: F.elu(x)),
        Activation("selu", lambda x, _: F.selu(x)),
        Activation("softplus", lambda x, _: F.softplus(x)),
        Activation("swish", _swish, default_gain=math.sqrt(2)),
    )
}
