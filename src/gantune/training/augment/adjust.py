"""How strongly to augment: p follows the discriminator's overfitting (ADA, arXiv 2006.06676, section 3.1)."""

from dataclasses import dataclass, replace

from gantune.training.options import AugmentOptions


@dataclass(frozen=True)
class AugmentState:
    """The probability p, and the sum and number of the signs of real logits since it last moved."""

    p: float
    sign_sum: float = 0.0
    sign_count: int = 0

    def observe(self, sign_sum: float, sign_count: int) -> "AugmentState":
        """Count the signs of a batch of real logits."""
        return replace(self, sign_sum=self.sign_sum + sign_sum, sign_count=self.sign_count + sign_count)


def adjust_probability(state: AugmentState, options: AugmentOptions, *, num_images: int) -> AugmentState:
    """Move p by one step up where the mean sign is above the target, else down, and forget the signs.

    `num_images` are those seen since the last move; p takes `ada_kimg` · 1000 images from 0 to 1.
    """
    if options.kind != "ada" or state.sign_count == 0:
        return replace(state, sign_sum=0.0, sign_count=0)
    mean_sign = state.sign_sum / state.sign_count
    direction = (mean_sign > options.target) - (mean_sign < options.target)
    moved = state.p + direction * num_images / (options.ada_kimg * 1000)
    return AugmentState(p=min(max(moved, 0.0), 1.0))
