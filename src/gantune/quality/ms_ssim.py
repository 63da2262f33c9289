"""Multi-scale structural similarity (Wang, Simoncelli and Bovik 2003)."""

import numpy as np
from numpy.typing import NDArray

from gantune.errors import UsageError
from gantune.quality.ssim import ssim_terms

_SCALE_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
# The window of 11 must fit into the fifth scale.
MIN_SIDE = 11 * 2 ** (len(_SCALE_WEIGHTS) - 1)


def ms_ssim(candidate: NDArray[np.floating], reference: NDArray[np.floating], *, value_range: float) -> float:
    """Average MS-SSIM over images and channels [N, C, H, W]; both sides are at least `MIN_SIDE`.

    Each scale halves the image by averaging 2×2 samples; negative contrast terms count as 0.
    """
    if candidate.shape != reference.shape or candidate.ndim != 4 or min(candidate.shape[2:]) < MIN_SIDE:
        raise UsageError(
            f"candidate has shape {list(candidate.shape)} and reference {list(reference.shape)}; both must "
            f"be [N, C, H, W], equal, with sides of at least {MIN_SIDE}"
        )
    planes = zip(
        candidate.reshape(-1, *candidate.shape[2:]), reference.reshape(-1, *reference.shape[2:]), strict=True
    )
    return float(
        np.mean([_plane(a.astype(np.float64), b.astype(np.float64), value_range) for a, b in planes])
    )


def _plane(a: NDArray[np.float64], b: NDArray[np.float64], value_range: float) -> float:
    product = 1.0
    for scale, weight in enumerate(_SCALE_WEIGHTS):
        full, contrast = ssim_terms(a, b, value_range)
        is_last = scale == len(_SCALE_WEIGHTS) - 1
        product *= max(full if is_last else contrast, 0.0) ** weight
        a, b = _halve(a), _halve(b)
    return product


def _halve(plane: NDArray[np.float64]) -> NDArray[np.float64]:
    height, width = plane.shape[0] // 2, plane.shape[1] // 2
    quads = plane[: 2 * height, : 2 * width].reshape(height, 2, width, 2)
    return np.asarray(quads.mean(axis=(1, 3)), dtype=np.float64)
