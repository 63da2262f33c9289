"""The Inception score (Salimans et al. 2016): how sure and how varied a classifier's answers are."""

import numpy as np
import torch
from torch import Tensor

from gantune.errors import UsageError


def inception_score(logits: Tensor, *, num_splits: int = 10, seed: int = 0) -> tuple[float, float]:
    """Give the mean and standard deviation over splits of exp(E KL(p(y|x) ‖ p(y))); logits are [N, K].

    Images are shuffled before they are split. The deviation is 0 for one split.
    """
    if logits.ndim != 2 or num_splits < 1 or len(logits) < 2 * num_splits:
        raise UsageError(
            f"logits have shape {list(logits.shape)} for {num_splits} splits; they must be [N, K] with at "
            "least 2 images a split"
        )
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(logits)))
    scores = []
    for part in logits.detach().double()[order].tensor_split(num_splits):
        log_each = part.log_softmax(dim=1)
        log_mean = log_each.exp().mean(dim=0, keepdim=True).log()
        # A class that no image has probability of contributes 0, not 0·∞.
        terms = torch.where(log_each.exp() > 0, log_each.exp() * (log_each - log_mean), 0.0)
        scores.append(float(terms.sum(dim=1).mean().exp()))
    return float(np.mean(scores)), float(np.std(scores))
