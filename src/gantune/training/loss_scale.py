"""Scale a loss so that its float16 gradients neither vanish nor overflow; one scale an optimizer."""

from dataclasses import dataclass

FIRST_SCALE = 2.0**16
STEPS_TO_GROW = 2000


@dataclass(frozen=True)
class LossScale:
    """The factor, a power of two, and how many steps in a row were free of overflow.

    Micikevicius et al., Mixed precision training, arXiv 1710.03740, section 3.2.
    """

    value: float = FIRST_SCALE
    num_good: int = 0

    def after_step(self, *, has_overflow: bool) -> "LossScale":
        """Halve after an overflow, at least to 1; double after 2000 steps without one."""
        if has_overflow:
            return LossScale(max(self.value / 2, 1.0))
        if self.num_good + 1 == STEPS_TO_GROW:
            return LossScale(self.value * 2)
        return LossScale(self.value, self.num_good + 1)
