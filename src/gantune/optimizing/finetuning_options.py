"""What the fine-tuning of a quantized generator is asked for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from gantune.errors import UsageError

Discriminator = Literal["float", "quantized", "frozen", "none"]
Steps = Literal["frozen", "learned"]
DISCRIMINATORS: tuple[str, ...] = get_args(Discriminator)
STEPS: tuple[str, ...] = get_args(Steps)


@dataclass(frozen=True, kw_only=True)
class FinetuneOptions:
    """Choose the data, how long, and against what.

    `rate` is the learning rate relative to each tensor's root mean square; it falls to 0 along a cosine.
    `discriminator`: it learns beside the generator in float, or with rounded weights, or is frozen, or there
    is none and the float generator is the only teacher. `distillation` weighs the squared error against the
    float generator's images of the same latents. `steps` of the grids stay as calibration found them, or are
    learned. `gamma` weighs R1; None is 0.0002·pixels/batch (Karras et al., arXiv 2006.06676, appendix C).
    Raise `UsageError` for values that make no run.
    """

    data: Path
    kimg: float = 20.0
    rate: float = 0.002
    discriminator: Discriminator = "float"
    distillation: float = 100.0
    steps: Steps = "learned"
    batch: int = 32
    gamma: float | None = None
    num_ticks: int = 20

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("discriminator", self.discriminator, DISCRIMINATORS),
            ("steps", self.steps, STEPS),
        ):
            if value not in allowed:
                raise UsageError(f"The {name} is {value!r}; it must be one of: {', '.join(allowed)}.")
        for name, number in (("kimg", self.kimg), ("rate", self.rate)):
            if not 0 < number < float("inf"):
                raise UsageError(f"The {name} of fine-tuning is {number:g}; it must be above 0.")
        if not 0 <= self.distillation < float("inf"):
            raise UsageError(f"The weight of distillation is {self.distillation:g}; it must be at least 0.")
        if self.distillation == 0 and self.discriminator == "none":
            raise UsageError(
                "Without a discriminator and without distillation there is nothing to learn from; give one."
            )
        if self.batch < 1 or self.num_ticks < 1:
            raise UsageError(
                f"batch is {self.batch} and num_ticks {self.num_ticks}; both must be at least 1."
            )

    @property
    def has_adversary(self) -> bool:
        """Say whether a discriminator takes part."""
        return self.discriminator != "none"

    @property
    def num_steps(self) -> int:
        """Count the steps."""
        return max(1, round(self.kimg * 1000 / self.batch))
