"""Is a difference real? Paired differences with a bootstrap interval, and what they show."""

import numpy as np
from numpy.typing import NDArray

from gantune.errors import UsageError
from gantune.records.score import Difference, Verdict

Values = NDArray[np.float64]

_CONFIDENCE = 0.95
_BLOCK_BYTES = 2**25


def paired_difference(
    new: Values, old: Values, *, is_lower_better: bool, num_resamples: int = 2000, seed: int = 0
) -> Difference:
    """Give the mean of new − old over pairs (values [N] on the same inputs), and whether it is real."""
    if new.shape != old.shape or new.ndim != 1 or len(new) < 2:
        raise UsageError(
            f"the paired values have shapes {list(new.shape)} and {list(old.shape)}; both must be [N] with N "
            "of at least 2"
        )
    differences = new - old
    means = resample_means(differences[:, None], num_resamples=num_resamples, seed=seed)[:, 0]
    low, high = interval(means)
    return Difference(
        value=float(differences.mean()),
        low=low,
        high=high,
        n=len(new),
        verdict=judge(low, high, is_lower_better=is_lower_better),
        method="paired percentile bootstrap of the mean",
    )


def judge(low: float, high: float, *, is_lower_better: bool) -> Verdict:
    """Say whether an interval of new − old shows a difference: it does only where it leaves out 0."""
    if low <= 0 <= high:
        return "no difference shown"
    is_lower = high < 0
    return "better" if is_lower == is_lower_better else "worse"


def interval(values: Values) -> tuple[float, float]:
    """Give the ends of the middle 95 % of resampled `values`."""
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def resample_means(columns: Values, *, num_resamples: int, seed: int) -> Values:
    """Resample the rows of [N, K] with replacement; give each resample's means [num_resamples, K]."""
    generator = np.random.default_rng(seed)
    block = max(1, _BLOCK_BYTES // (8 * len(columns)))
    uniform = np.full(len(columns), 1 / len(columns))
    parts = []
    for start in range(0, num_resamples, block):
        counts = generator.multinomial(len(columns), uniform, min(block, num_resamples - start))
        parts.append(counts @ columns / len(columns))
    return np.concatenate(parts)
