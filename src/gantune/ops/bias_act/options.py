"""What bias_act can be asked for."""

from dataclasses import dataclass

from gantune.errors import UsageError
from gantune.ops.bias_act.activations import ACTIVATIONS


@dataclass(frozen=True)
class BiasActOptions:
    """The bias's dimension, the activation with its slope, the gain, and the clamp (None: no clamp)."""

    dim: int
    act: str
    alpha: float
    gain: float
    clamp: float | None


def parse_options(
    dim: int, act: str, alpha: float | None, gain: float | None, clamp: float | None
) -> BiasActOptions:
    """Fill in the activation's defaults; raise UsageError for an unknown activation or a bad clamp."""
    if act not in ACTIVATIONS:
        raise UsageError(f"unknown activation {act!r}; allowed: {', '.join(ACTIVATIONS)}")
    activation = ACTIVATIONS[act]
    return BiasActOptions(
        dim=dim,
        act=act,
        alpha=activation.default_alpha if alpha is None else float(alpha),
        gain=activation.default_gain if gain is None else float(gain),
        clamp=parse_clamp(clamp),
    )


def parse_clamp(clamp: float | None) -> float | None:
    """Read a clamp: None and negative numbers (an older convention of the field) mean no clamp."""
    if clamp is None or clamp < 0:
        return None
    if not clamp >= 0:
        raise UsageError("clamp is a number of at least 0 or None, found NaN")
    return float(clamp)
