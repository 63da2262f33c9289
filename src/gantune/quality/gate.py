"""The gate: a budget of what may be lost, and the judgment of one candidate against it."""

from dataclasses import dataclass, fields
from typing import Literal

from gantune.errors import UsageError
from gantune.records.candidate import ImageQuality, Measurement

ImageError = Literal["range", "snr"]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Bound what an optimization may cost; None leaves a figure unbounded.

    `min_psnr_db` bounds the image error in decibels (the SNR where the image error is `snr`), and
    `max_spectrum_db` the largest change of the azimuthal power spectrum. `max_frechet_loss` bounds the
    relative Fréchet loss (0.02 is 2 %); a candidate whose loss is not known does not meet it. Raises
    `UsageError` for a bound that no candidate could meet.
    """

    min_psnr_db: float | None = 40.0
    min_ssim: float | None = None
    max_spectrum_db: float | None = None
    max_frechet_loss: float | None = None
    max_latency_ms: float | None = None
    max_peak_bytes: int | None = None
    max_size_bytes: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(
                    f"The budget {field.name} is {value}; it must be above 0 and finite. Leave it out for "
                    "no bound."
                )

    def as_record(self) -> dict[str, float]:
        """Give the bounds that are set, by name."""
        return {
            field.name: float(getattr(self, field.name))
            for field in fields(self)
            if getattr(self, field.name) is not None
        }


def image_error_db(quality: ImageQuality, *, image_error: ImageError) -> float:
    """Give the figure the gate compares, in dB; infinity where the images are identical."""
    if quality.identical:
        return float("inf")
    value = quality.psnr_db if image_error == "range" else quality.snr_db
    # No figure though the images differ: the original has no variance, and any error is infinitely large.
    return float("-inf") if value is None else value


def find_image_violations(budget: Budget, quality: ImageQuality, *, image_error: ImageError) -> list[str]:
    """List, in words, each bound on paired images that is not met: what is known before anything is timed."""
    violations = []
    error_db = image_error_db(quality, image_error=image_error)
    # Written as "not at least" so that a NaN never passes.
    if budget.min_psnr_db is not None and not error_db >= budget.min_psnr_db:
        violations.append(f"image error {error_db:.1f} dB is below {budget.min_psnr_db:g} dB")
    if budget.min_ssim is not None and not quality.ssim >= budget.min_ssim:
        violations.append(f"SSIM {quality.ssim:.4f} is below {budget.min_ssim:g}")
    if budget.max_spectrum_db is not None and not quality.spectrum_db <= budget.max_spectrum_db:
        violations.append(
            f"spectrum change {quality.spectrum_db:,.4g} dB is above {budget.max_spectrum_db:,.4g} dB"
        )
    return violations


def find_violations(
    budget: Budget,
    *,
    quality: ImageQuality,
    measured: Measurement,
    size_bytes: int,
    image_error: ImageError,
) -> list[str]:
    """List, in words, each bound that is not met; an empty list means inside the budget."""
    violations = find_image_violations(budget, quality, image_error=image_error)
    if budget.max_frechet_loss is not None and quality.frechet_loss is None:
        violations.append("the Fréchet loss is not known, and the budget bounds it")
    frechet_loss = 0.0 if quality.frechet_loss is None else quality.frechet_loss
    ceilings: tuple[tuple[str, float, float | None, str], ...] = (
        ("Fréchet loss", frechet_loss, budget.max_frechet_loss, "of the original's distance"),
        ("latency", measured.latency_ms.p50, budget.max_latency_ms, "ms"),
        ("peak memory", measured.peak_bytes, budget.max_peak_bytes, "bytes"),
        ("size", size_bytes, budget.max_size_bytes, "bytes"),
    )
    for name, value, bound, unit in ceilings:
        if bound is not None and not value <= bound:
            violations.append(f"{name} {value:,.4g} {unit} is above {bound:,.4g} {unit}")
    return violations
