"""What calibration remembers of a tensor: extremes, their moving average, a histogram; never the tensor."""

from math import ceil, log2

import torch
from torch import Tensor

from gantune.errors import UsageError

NUM_BINS = 4096
_MOMENTUM = 0.1


class TensorStatistics:
    """Watch a tensor batch by batch in constant memory.

    The histogram spans [−limit, limit]; when a larger value comes, the limit doubles and pairs of bins merge,
    so nothing seen before is needed again.
    """

    def __init__(self) -> None:
        self.low = 0.0
        self.high = 0.0
        self.average_low = 0.0
        self.average_high = 0.0
        self.num_batches = 0
        self.limit = 0.0
        self.histogram = torch.zeros(NUM_BINS, dtype=torch.float64)

    def observe(self, x: Tensor) -> None:
        """Take in one batch; raise `UsageError` for NaN or infinity."""
        low, high = (float(value) for value in torch.aminmax(x))
        if not (abs(low) < float("inf") and abs(high) < float("inf")):
            raise UsageError(
                "Calibration met NaN or infinity inside the network; check its inputs and weights."
            )
        is_first = self.num_batches == 0
        rate = 1.0 if is_first else _MOMENTUM
        self.low = low if is_first else min(self.low, low)
        self.high = high if is_first else max(self.high, high)
        self.average_low += rate * (low - self.average_low)
        self.average_high += rate * (high - self.average_high)
        self.num_batches += 1
        self._widen(max(-low, high))
        if self.limit > 0:
            counts = torch.histc(x.float(), NUM_BINS, -self.limit, self.limit)
            self.histogram += counts.double()

    @property
    def centers(self) -> Tensor:
        """Give the value in the middle of each bin."""
        width = 2 * self.limit / NUM_BINS
        return -self.limit + width * (torch.arange(NUM_BINS, dtype=torch.float64) + 0.5)

    def _widen(self, largest: float) -> None:
        if largest <= self.limit:
            return
        if self.limit == 0:
            self.limit = largest
            # All that came before was zero, and was not counted; it changes no range.
            return
        for _ in range(ceil(log2(largest / self.limit))):
            quarter = NUM_BINS // 4
            merged = torch.zeros_like(self.histogram)
            merged[quarter : 3 * quarter] = self.histogram.reshape(-1, 2).sum(dim=1)
            self.histogram = merged
            self.limit *= 2
