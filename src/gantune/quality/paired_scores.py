"""Paired figures over many images, one batch at a time, each with its bootstrap interval."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gantune.errors import QualityError, UsageError
from gantune.quality.difference import interval, resample_means
from gantune.quality.frequency_bands import band_losses
from gantune.quality.image_sources import ImageSource, read_batches
from gantune.quality.lpips import LPIPS
from gantune.quality.ms_ssim import MIN_SIDE, ms_ssim
from gantune.quality.paired import count_non_finite, is_identical, max_abs, psnr_db, snr_db
from gantune.quality.pixels import pixels_from_output
from gantune.quality.spectrum import spectrum_db
from gantune.quality.ssim import ssim
from gantune.records.score import BandLoss, Score, ScoreIdentity

# Spectra average over this many images; the first ones.
_SPECTRUM_IMAGES = 64

UNITS = {"psnr_db": "dB", "snr_db": "dB", "spectrum_db": "dB"}


@dataclass(frozen=True)
class PairedScores:
    """The scores by name, the losses by frequency band, and whether every image is identical."""

    scores: dict[str, Score]
    bands: tuple[BandLoss, ...]
    is_identical: bool


def score_pairs(
    new: ImageSource, old: ImageSource, *, n: int, batch: int, lpips: LPIPS | None = None
) -> PairedScores:
    """Compare images 0 to n − 1 of both sources, in the old one's range.

    `psnr_db` and `snr_db` are absent where no image has a finite figure (all are identical). Raises
    `UsageError` where ranges or shapes differ, `QualityError` where a value is not finite.
    """
    if new.output != old.output:
        raise UsageError(f"The images have different ranges or channels: {new.output} and {old.output}.")
    value_range = old.output.value_range
    columns: dict[str, list[float]] = {}
    firsts: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []
    is_same, largest = True, 0.0
    for a, b in zip(read_batches(new, 0, n, batch=batch), read_batches(old, 0, n, batch=batch), strict=True):
        _check(a, b)
        is_same &= is_identical(a, b)
        largest = max(largest, max_abs(a, b))
        for name, values in _score_batch(a, b, value_range, old, lpips).items():
            columns.setdefault(name, []).extend(values)
        if sum(len(first) for first, _ in firsts) < _SPECTRUM_IMAGES:
            firsts.append((a, b))
    candidate, reference = (np.concatenate(side) for side in zip(*firsts, strict=True))
    scores = {name: _summarize(name, values, n, lpips) for name, values in columns.items() if values}
    scores["max_abs"] = Score(value=largest, identity=_identify("max_abs", n, None))
    scores["spectrum_db"] = Score(
        value=spectrum_db(candidate, reference, value_range=value_range),
        unit="dB",
        identity=_identify("spectrum_db", len(candidate), None),
    )
    return PairedScores(scores, band_losses(candidate, reference, value_range=value_range), is_same)


def _check(a: NDArray[np.float32], b: NDArray[np.float32]) -> None:
    if a.shape != b.shape:
        raise UsageError(
            f"Paired images have shapes {list(a.shape)} and {list(b.shape)}; they must be equal."
        )
    for name, images in (("candidate", a), ("original", b)):
        if num_bad := count_non_finite(images):
            raise QualityError(
                f"{num_bad} of {images.size} values of the {name}'s images are NaN or infinite."
            )


def _score_batch(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    value_range: float,
    source: ImageSource,
    lpips: LPIPS | None,
) -> dict[str, list[float]]:
    pairs = [(a[index : index + 1], b[index : index + 1]) for index in range(len(a))]
    columns: dict[str, list[float | None]] = {
        "psnr_db": [psnr_db(x, y, value_range=value_range) for x, y in pairs],
        "snr_db": [snr_db(x, y) for x, y in pairs],
        "ssim": [ssim(x, y, value_range=value_range) for x, y in pairs],
    }
    if min(a.shape[2:]) >= MIN_SIDE:
        columns["ms_ssim"] = [ms_ssim(x, y, value_range=value_range) for x, y in pairs]
    if lpips is not None:
        sides = (pixels_from_output(side, source.output, is_rounded=False) for side in (a, b))
        columns["lpips"] = [float(value) for value in lpips(*sides)]
    return {
        name: [value for value in values if value is not None and np.isfinite(value)]
        for name, values in columns.items()
    }


def _summarize(name: str, values: list[float], n: int, lpips: LPIPS | None) -> Score:
    array = np.asarray(values, dtype=np.float64)
    low, high = interval(resample_means(array[:, None], num_resamples=1000, seed=0)[:, 0])
    return Score(
        value=float(array.mean()),
        unit=UNITS.get(name, ""),
        low=low,
        high=high,
        identity=_identify(name, n, lpips),
        details={"worst": float(array.max() if name == "lpips" else array.min())},
    )


def _identify(name: str, n: int, lpips: LPIPS | None) -> ScoreIdentity:
    is_learned = name == "lpips" and lpips is not None
    return ScoreIdentity(
        metric=name,
        features="vgg16" if is_learned else "pixels",
        weights_sha256=lpips.weights_sha256 if is_learned and lpips is not None else None,
        pixels="float",
        num_images=n,
    )
