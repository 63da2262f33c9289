"""What a run is asked for."""

from dataclasses import dataclass, field
from pathlib import Path

from gantune.errors import UsageError
from gantune.optimizing.situation import GOALS, PRECISIONS
from gantune.quality.gate import Budget, ImageError
from gantune.records.plan import Goal

THROUGHPUT_BATCH = 8


@dataclass(frozen=True, kw_only=True)
class OptimizeOptions:
    """Choose target, goal, budget and how to measure.

    `precision` fp32 keeps only exact candidates. `image_error` is the figure that the budget's `min_psnr_db`
    bounds. `samples` names pictures to test an image-to-image network on, `image_size` their crop. `batch`
    None is 8 for the goal throughput and 1 for the others; `threads` None is every core. `rounds` counts the
    interleaved timing rounds, and `budget_minutes` ends the search early. `data` names real pictures, a
    folder or a ZIP, that Fréchet distances are taken from, over `num_images` generated ones.
    """

    target: str = "cpu"
    goal: Goal = "latency"
    precision: str = "any"
    budget: Budget = field(default_factory=Budget)
    image_error: ImageError = "range"
    budget_minutes: float | None = None
    samples: Path | None = None
    image_size: int = 64
    batch: int | None = None
    threads: int | None = None
    rounds: int = 15
    seed: int = 0
    data: Path | None = None
    num_images: int = 10_000

    def __post_init__(self) -> None:
        choices: tuple[tuple[str, str, tuple[str, ...]], ...] = (
            ("goal", self.goal, GOALS),
            ("precision", self.precision, PRECISIONS),
            ("image_error", self.image_error, ("range", "snr")),
        )
        for name, value, allowed in choices:
            if value not in allowed:
                raise UsageError(f"The {name} is {value!r}; it must be one of: {', '.join(allowed)}.")
        smallest: tuple[tuple[str, float | None, float], ...] = (
            ("image_size", self.image_size, 8),
            ("batch", self.batch, 1),
            ("threads", self.threads, 1),
            ("rounds", self.rounds, 3),
            ("seed", self.seed, 0),
            ("num_images", self.num_images, 2),
        )
        for name, number, least in smallest:
            if number is not None and number < least:
                raise UsageError(f"{name} is {number}; it must be at least {least:g}.")
        if self.budget_minutes is not None and not 0 < self.budget_minutes < float("inf"):
            raise UsageError(
                f"budget_minutes is {self.budget_minutes:g}; it must be above 0. Leave it out for no end."
            )

    @property
    def batch_size(self) -> int:
        """Give the batch size that is timed."""
        return self.batch or (THROUGHPUT_BATCH if self.goal == "throughput" else 1)
