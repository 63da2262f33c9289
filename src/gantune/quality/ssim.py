"""Structural similarity (Wang et al. 2004, "Image quality assessment: from error visibility to …")."""

import numpy as np
from numpy.typing import NDArray

from gantune.errors import UsageError

Plane = NDArray[np.float64]

_WINDOW_SIDE = 11
_SIGMA = 1.5
_K1 = 0.01
_K2 = 0.03


def ssim(candidate: NDArray[np.floating], reference: NDArray[np.floating], *, value_range: float) -> float:
    """Average SSIM over images and channels [N, C, H, W]: Gaussian 11×11 window, σ 1.5, inside the image
    only.

    A side shorter than the window shortens the window to it.
    """
    if candidate.shape != reference.shape or candidate.ndim != 4 or candidate.size == 0:
        raise UsageError(
            f"candidate has shape {list(candidate.shape)} and reference {list(reference.shape)}; both must "
            "be [N, C, H, W], equal and not empty"
        )
    planes = zip(
        candidate.reshape(-1, *candidate.shape[2:]), reference.reshape(-1, *reference.shape[2:]), strict=True
    )
    return float(
        np.mean([ssim_terms(a.astype(np.float64), b.astype(np.float64), value_range)[0] for a, b in planes])
    )


def ssim_terms(a: Plane, b: Plane, value_range: float) -> tuple[float, float]:
    """Give, for planes [H, W], the mean SSIM and the mean of its contrast-structure factor alone."""
    c1, c2 = (_K1 * value_range) ** 2, (_K2 * value_range) ** 2
    mean_a, mean_b = _smooth(a), _smooth(b)
    variance_a = _smooth(a * a) - mean_a**2
    variance_b = _smooth(b * b) - mean_b**2
    covariance = _smooth(a * b) - mean_a * mean_b
    luminance = (2 * mean_a * mean_b + c1) / (mean_a**2 + mean_b**2 + c1)
    contrast = (2 * covariance + c2) / (variance_a + variance_b + c2)
    return float((luminance * contrast).mean()), float(contrast.mean())


def _smooth(plane: Plane) -> Plane:
    return _smooth_rows(_smooth_rows(plane).T).T


def _smooth_rows(plane: Plane) -> Plane:
    """Filter along the first axis, keeping only positions where the window lies inside."""
    taps = _window(min(_WINDOW_SIDE, plane.shape[0]))
    num_rows = plane.shape[0] - len(taps) + 1
    total = np.zeros((num_rows, plane.shape[1]))
    for offset, tap in enumerate(taps):
        total += tap * plane[offset : offset + num_rows]
    return total


def _window(side: int) -> Plane:
    taps = np.exp(-((np.arange(side) - (side - 1) / 2) ** 2) / (2 * _SIGMA**2))
    return np.asarray(taps / taps.sum(), dtype=np.float64)
