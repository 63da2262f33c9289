"""What a quantization run is asked for."""

from dataclasses import dataclass, field
from pathlib import Path

from gantune.errors import UsageError
from gantune.optimizing.finetuning_options import FinetuneOptions
from gantune.quality.gate import ImageError
from gantune.records.candidate import ImageQuality
from gantune.transforms.quantize import QuantizeOptions
from gantune.transforms.quantize.calibration import MIN_SAMPLES
from gantune.transforms.quantize.observers import Observer

# Between two float32 programs of the same network: no rounding to integers comes closer.
MOST_DB = 100.0


@dataclass(frozen=True, kw_only=True)
class QuantizationRun:
    """Choose scheme, calibration, gate and how to measure.

    `observer` None tries several and keeps the best one. `pictures` calibrate an image-to-image network and
    `samples` test it: two different folders or files. `min_db` is the gate on the image error, PSNR over the
    value range or SNR as `image_error` says: the worst layers are reverted until it holds. `finetune` adds a
    candidate that was trained with its rounding. `max_size_mb` (MiB of all weights) or `max_mac_bits` (10⁹
    multiply-accumulates times the bits of both factors, for one sample) spreads the bits of the weights over
    the layers; `max_latency_ms` (measured here, for one sample) keeps as many layers in float as it allows.
    Raise `UsageError` for values that make no run.
    """

    scheme: QuantizeOptions = field(default_factory=QuantizeOptions)
    observer: Observer | None = None
    num_samples: int = 32
    pictures: Path | None = None
    samples: Path | None = None
    image_size: int = 64
    min_db: float = 38.0
    image_error: ImageError = "range"
    threads: int | None = None
    rounds: int = 15
    seed: int = 0
    finetune: FinetuneOptions | None = None
    max_size_mb: float | None = None
    max_mac_bits: float | None = None
    max_latency_ms: float | None = None

    def __post_init__(self) -> None:
        if self.pictures is not None and self.pictures == self.samples:
            raise UsageError(
                f"{self.pictures} is named for calibration and for the test; the two must differ, or the "
                "test proves nothing."
            )
        if self.num_samples < MIN_SAMPLES:
            raise UsageError(
                f"{self.num_samples} calibration samples are too few to know the ranges; take at least "
                f"{MIN_SAMPLES}."
            )
        if not 0 < self.min_db <= MOST_DB:
            raise UsageError(
                f"The gate is {self.min_db:g} dB, an impossible budget: it must be above 0 and at most "
                f"{MOST_DB:g}, which float32 itself reaches. 35 to 45 suits integers."
            )
        budgets = {
            "size": self.max_size_mb,
            "number of MAC·bits": self.max_mac_bits,
            "latency": self.max_latency_ms,
        }
        bounded = [name for name, budget in budgets.items() if budget is not None]
        if len(bounded) > 1:
            raise UsageError(
                f"{' and '.join(bounded)} are both bounded; the bits are chosen for one of them: drop one."
            )
        for name, budget in budgets.items():
            if budget is not None and not 0 < budget < float("inf"):
                raise UsageError(
                    f"The largest {name} is {budget:g}, an impossible budget: it must be above 0."
                )
        if self.rounds < 3:
            raise UsageError(f"rounds is {self.rounds}; it must be at least 3.")

    @property
    def has_bit_budget(self) -> bool:
        """Say whether the bits of the weights are chosen within a budget."""
        return self.max_size_mb is not None or self.max_mac_bits is not None

    def error_db(self, quality: ImageQuality) -> float:
        """Give the image error that the gate bounds, infinity where the images are identical."""
        found = quality.psnr_db if self.image_error == "range" else quality.snr_db
        return float("inf") if found is None else found

    def is_inside(self, quality: ImageQuality) -> bool:
        """Say whether images pass the gate."""
        return self.error_db(quality) >= self.min_db
