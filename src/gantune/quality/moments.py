"""Mean and covariance of features, gathered batch by batch in float64; memory does not grow with n."""

import torch
from torch import Tensor

from gantune.errors import QualityError, UsageError


class Moments:
    """Gather features [N, K] of any dtype; `mean` is [K], `covariance` [K, K] with n − 1 below.

    Batches are merged about their own means (Chan, Golub and LeVeque 1983), so that features far from zero
    lose nothing.
    """

    def __init__(self, num_features: int) -> None:
        self.num_features = num_features
        self.n = 0
        self._mean = torch.zeros(num_features, dtype=torch.float64)
        self._scatter = torch.zeros(num_features, num_features, dtype=torch.float64)

    @classmethod
    def of(cls, features: Tensor) -> "Moments":
        """Gather all of `features` [N, K] at once."""
        if features.ndim != 2:
            raise UsageError(f"features have shape {list(features.shape)}; they must be [N, K]")
        moments = cls(features.shape[1])
        moments.update(features)
        return moments

    @classmethod
    def restore(cls, n: int, mean: Tensor, covariance: Tensor) -> "Moments":
        """Rebuild from what was stored: `n`, mean [K] and covariance [K, K]."""
        moments = cls(len(mean))
        moments.n = n
        moments._mean = mean.double().clone()
        moments._scatter = covariance.double() * (n - 1)
        return moments

    def update(self, features: Tensor) -> None:
        """Add a batch [N, K]; raise `QualityError` where a value is NaN or infinite."""
        if features.ndim != 2 or features.shape[1] != self.num_features:
            raise UsageError(f"features are {list(features.shape)}; they must be [N, {self.num_features}]")
        batch = features.detach().double()
        if not bool(batch.isfinite().all()):
            raise QualityError("a feature is NaN or infinite; the images or the feature network are broken")
        if len(batch) == 0:
            return
        mean = batch.mean(dim=0)
        centered = batch - mean
        step = mean - self._mean
        total = self.n + len(batch)
        self._scatter.addmm_(centered.t(), centered)
        self._scatter.addr_(step, step, alpha=self.n * len(batch) / total)
        self._mean += step * (len(batch) / total)
        self.n = total

    @property
    def mean(self) -> Tensor:
        """Give the mean [K]; raise `UsageError` below two samples."""
        self._require_two()
        return self._mean

    @property
    def covariance(self) -> Tensor:
        """Give the unbiased covariance [K, K]; raise `UsageError` below two samples."""
        self._require_two()
        return self._scatter / (self.n - 1)

    def _require_two(self) -> None:
        if self.n < 2:
            raise UsageError(
                f"A mean and covariance need at least 2 images; {self.n} was given. Use more (10,000 or more "
                "for a figure to quote)."
            )
