"""What goes into a network and what comes out of it, as plain values."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

InputKind = Literal["latent", "class", "w", "image", "vector", "noise", "scalar"]


class InputSpec(BaseModel):
    """Describe one named input.

    `shape` holds fixed sizes as integers and free ones as letters ("N" is the batch, "H" and "W" image
    sizes); a scalar has the empty shape. `low` and `high` bound the values that make sense; None means
    unbounded. A `class` input is one-hot float32 [N, c] or int64 indices [N]: `high` is then the number of
    classes − 1. `default` is the value of a scalar (truncation_psi: 1.0) that a caller may leave out.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    kind: InputKind
    shape: tuple[int | str, ...]
    dtype: Literal["float32", "int64"] = "float32"
    low: float | None = None
    high: float | None = None
    default: float | None = None


class OutputSpec(BaseModel):
    """Describe the output: an image [N, channels, H, W] or a vector [N, channels], values in [low, high]."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["image", "vector"] = "image"
    channels: int = 3
    low: float = -1.0
    high: float = 1.0

    @property
    def value_range(self) -> float:
        """Give the width of the value range, the `range` of PSNR (2 for [-1, 1])."""
        return self.high - self.low
