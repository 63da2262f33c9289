"""How far a candidate's images are from the reference's on the same inputs."""

import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from gantune.errors import QualityError, UsageError
from gantune.quality.difference import interval, resample_means
from gantune.quality.spectrum import spectrum_db
from gantune.quality.ssim import ssim
from gantune.records.candidate import ImageQuality, Interval

Images = NDArray[np.floating]

EXACT_TOLERANCE = 1e-4
# Makes SNR equal PSNR where the image's standard deviation is a quarter of the range: 20·log10(4).
SNR_OFFSET_DB = 12.04


def compare_images(candidate: Images, reference: Images, *, value_range: float) -> ImageQuality:
    """Compare images [N, C, H, W], unclipped, per image and then averaged; `value_range` is 2 for [−1, 1].

    Raises UsageError where the shapes differ, QualityError where a value is not finite.
    """
    _check_shapes(candidate, reference)
    if reference.ndim != 4:
        raise UsageError(f"images have shape {list(reference.shape)}; they must be [N, C, H, W]")
    for name, images in (("candidate", candidate), ("reference", reference)):
        num_bad = count_non_finite(images)
        if num_bad:
            raise QualityError(
                f"{num_bad} of {images.size} values of the {name}'s images are NaN or infinite"
            )
    return ImageQuality(
        psnr_db=psnr_db(candidate, reference, value_range=value_range),
        snr_db=snr_db(candidate, reference),
        identical=is_identical(candidate, reference),
        ssim=ssim(candidate, reference, value_range=value_range),
        max_abs=max_abs(candidate, reference),
        is_exact=is_exact(candidate, reference),
        spectrum_db=spectrum_db(candidate, reference, value_range=value_range),
        psnr_range=_range(psnr_db(*pair, value_range=value_range) for pair in _pairs(candidate, reference)),
        snr_range=_range(snr_db(*pair) for pair in _pairs(candidate, reference)),
        ssim_range=_range(ssim(*pair, value_range=value_range) for pair in _pairs(candidate, reference)),
    )


def psnr_db(candidate: Images, reference: Images, *, value_range: float) -> float | None:
    """Average 10·log10(range²/mse) over the images; None where all are identical.

    An image that is identical among others that are not has no finite figure and is left out.
    """
    errors = [error for error in _mean_squares(candidate, reference) if error > 0]
    return _mean([10 * math.log10(value_range**2 / error) for error in errors])


def snr_db(candidate: Images, reference: Images) -> float | None:
    """Average 10·log10(var/mse) + 12.04 over the images, `var` the reference image's; None where equal.

    An image without variance has no figure and is left out; where no other differs, the answer is −∞.
    """
    errors = _mean_squares(candidate, reference)
    variances = [float(np.var(image, dtype=np.float64)) for image in reference]
    pairs = [(error, variance) for error, variance in zip(errors, variances, strict=True) if error > 0]
    figures = [10 * math.log10(variance / error) + SNR_OFFSET_DB for error, variance in pairs if variance > 0]
    return -math.inf if pairs and not figures else _mean(figures)


def max_abs(candidate: Images, reference: Images) -> float:
    """Give the largest absolute difference, NaN where any value is."""
    _check_shapes(candidate, reference)
    return float(np.abs(candidate.astype(np.float64) - reference).max())


def is_identical(candidate: Images, reference: Images) -> bool:
    """Say whether every value is the same."""
    return candidate.shape == reference.shape and bool(np.array_equal(candidate, reference))


def is_exact(candidate: Images, reference: Images) -> bool:
    """Say whether max |a − b| ≤ 1e-4 · max(1, max |b|), b the reference; not where any value is NaN."""
    bound = EXACT_TOLERANCE * max(1.0, float(np.abs(reference).max()))
    return max_abs(candidate, reference) <= bound


def count_non_finite(images: Images) -> int:
    """Count the values that are NaN or infinite."""
    return int(images.size - np.isfinite(images).sum())


def _pairs(candidate: Images, reference: Images) -> Iterator[tuple[Images, Images]]:
    """Walk the pairs, each as a batch of one."""
    return ((candidate[index : index + 1], reference[index : index + 1]) for index in range(len(reference)))


def _range(figures: Iterable[float | None]) -> Interval | None:
    """Give the median with the 95 % bootstrap interval of the mean over images; None for fewer than two."""
    known = np.array([figure for figure in figures if figure is not None and math.isfinite(figure)])
    if len(known) < 2:
        return None
    low, high = interval(resample_means(known[:, None], num_resamples=2000, seed=0)[:, 0])
    return Interval(median=float(np.median(known)), low=low, high=high)


def _mean_squares(candidate: Images, reference: Images) -> list[float]:
    _check_shapes(candidate, reference)
    return [
        float(np.square(a.astype(np.float64) - b).mean()) for a, b in zip(candidate, reference, strict=True)
    ]


def _mean(figures: list[float]) -> float | None:
    return sum(figures) / len(figures) if figures else None


def _check_shapes(candidate: Images, reference: Images) -> None:
    if candidate.shape != reference.shape or candidate.size == 0:
        raise UsageError(
            f"candidate has shape {list(candidate.shape)} and reference {list(reference.shape)}; they must "
            "be equal and not empty"
        )
