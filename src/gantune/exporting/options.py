"""What an exported file takes and how its graph is written."""

from dataclasses import dataclass
from typing import Literal

from gantune.errors import UsageError

Latent = Literal["z", "ws"]
NoiseMode = Literal["const", "input", "none"]
MIN_OPSET = 18
MAX_OPSET = 23


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Choose the inputs of an exported network; all but `opset` matter to style networks alone.

    `latent` "z" includes the mapping network, "ws" starts at its result. `noise` is the stored one ("const"),
    one input [N, 1, R, R] a layer ("input"), or nothing ("none"). `has_truncation_input` adds the scalar
    `truncation_psi`; without it psi is 1.
    """

    latent: Latent = "z"
    noise: NoiseMode = "const"
    has_truncation_input: bool = True
    opset: int = 20

    def __post_init__(self) -> None:
        if self.latent not in ("z", "ws"):
            raise UsageError(f"The export option latent is {self.latent!r}; it must be z or ws.")
        if self.noise not in ("const", "input", "none"):
            raise UsageError(f"The export option noise is {self.noise!r}; it must be const, input or none.")
        if not MIN_OPSET <= self.opset <= MAX_OPSET:
            raise UsageError(f"The opset is {self.opset}; it must be from {MIN_OPSET} to {MAX_OPSET}.")
