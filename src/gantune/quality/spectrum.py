"""Azimuthally averaged power spectra: what a transform did to fine detail, averaged over images.

Source of the idea: Durall et al. 2020, "Watch your Up-Convolution"; windowed as in Karras et al. 2021,
"Alias-Free Generative Adversarial Networks", appendix.
"""

import numpy as np
from numpy.typing import NDArray

from gantune.errors import UsageError
from gantune.records.report import SpectrumCurve

Images = NDArray[np.floating]


def spectrum_db(candidate: Images, reference: Images, *, value_range: float) -> float:
    """Give the largest absolute difference of the two averaged log power spectra, in decibels."""
    if candidate.shape[1:] != reference.shape[1:]:
        raise UsageError(
            f"candidate has shape {list(candidate.shape)} and reference {list(reference.shape)}; images must "
            "be of one size"
        )
    difference = power_db(candidate, value_range=value_range) - power_db(reference, value_range=value_range)
    return float(np.abs(difference).max())


def spectrum_curve(name: str, images: Images, *, value_range: float) -> SpectrumCurve:
    """Put the averaged spectrum of images [N, C, H, W] into a record, over cycles a pixel."""
    power = power_db(images, value_range=value_range)
    side = min(images.shape[2:])
    return SpectrumCurve(
        name=name,
        frequency=tuple(index / side for index in range(len(power))),
        power_db=tuple(float(value) for value in power),
    )


def power_db(images: Images, *, value_range: float) -> NDArray[np.float64]:
    """Average the power of images [N, C, H, W] over images, channels and rings of equal frequency, in dB.

    Entry i belongs to i/min(H, W) cycles a pixel, up to 0.5. White noise of standard deviation `value_range`
    gives 0 dB throughout. The noise of rounding to 8 bits is added, so that differences far below what a
    picture file can hold do not count.
    """
    power = _average_rings(mean_power(images, value_range=value_range))
    return np.asarray(10 * np.log10(power + rounding_noise_power()), dtype=np.float64)


def mean_power(images: Images, *, value_range: float) -> NDArray[np.float64]:
    """Average the windowed power of images [N, C, H, W] over images and channels: [H, W], frequency 0 first.

    White noise of standard deviation `value_range` gives 1 throughout.
    """
    if images.ndim != 4 or images.size == 0:
        raise UsageError(f"images have shape {list(images.shape)}; they must be [N, C, H, W] and not empty")
    height, width = images.shape[2:]
    window = np.outer(_hann(height), _hann(width))
    power = np.zeros((height, width))
    for image in images:
        power += np.square(np.abs(np.fft.fft2(image * window))).mean(axis=0)
    return np.asarray(power / (len(images) * np.square(window).sum() * value_range**2), dtype=np.float64)


def rounding_noise_power() -> float:
    """Give the power of rounding to 8 bits, over the value range squared."""
    return (1 / 255) ** 2 / 12


def _average_rings(power: NDArray[np.float64]) -> NDArray[np.float64]:
    height, width = power.shape
    side = min(height, width)
    radius = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None, :])
    ring = np.rint(radius * side).astype(np.int64).ravel()
    totals = np.bincount(ring, power.ravel())
    counts = np.bincount(ring)
    num_rings = side // 2 + 1
    return np.asarray(totals[:num_rings] / counts[:num_rings], dtype=np.float64)


def _hann(size: int) -> NDArray[np.float64]:
    """Give a window without zeros at its ends, so that even one pixel has a spectrum."""
    return np.asarray(np.sin(np.pi * (np.arange(size) + 0.5) / size) ** 2, dtype=np.float64)
