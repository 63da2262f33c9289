"""How far a median can be trusted."""

from collections.abc import Sequence

import numpy as np

from gantune.errors import UsageError
from gantune.records.candidate import Interval

_CONFIDENCE = 0.95


def bootstrap_median(values: Sequence[float], *, num_resamples: int = 2000, seed: int = 0) -> Interval:
    """Give the median with its 95 % percentile bootstrap interval (Efron 1979); one value has no width."""
    if len(values) == 0:
        raise UsageError("there are no values to take the median of; at least one is needed")
    array = np.asarray(values, dtype=np.float64)
    draws = np.random.default_rng(seed).integers(0, len(array), (num_resamples, len(array)))
    medians = np.median(array[draws], axis=1)
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Interval(median=float(np.median(array)), low=float(low), high=float(high))
