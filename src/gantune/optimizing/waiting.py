"""Candidates that wait for another: the same engine doing the same with more work, so a slower runner-up.

They are built only where the one they wait for cannot be kept: it failed, or its images are outside the
budget. Nobody waits where speed is not the goal, or where the budget bounds what is only known later.
"""

from collections.abc import Collection

from gantune.quality.gate import Budget
from gantune.records.plan import Goal, PlannedCandidate

# waiting: (whom for, why nothing is lost)
WAITS: dict[str, tuple[str, str]] = {
    "torch-fused-bf16": ("torch-fused-bf16-large", "the same layers with fewer products"),
    "torch-fused-fp32": ("torch-fused-bf16-large", "the same layers with products of half the width"),
    "torch-fp32": ("torch-bf16", "the same layers with products of half the width"),
}


def find_forerunner(planned: PlannedCandidate, inside: Collection[str], *, goal: Goal, budget: Budget) -> str:
    """Say why a candidate need not be built, "" where it is: `inside` are those whose images may be kept."""
    waits_for, difference = WAITS.get(planned.name, ("", ""))
    later = (budget.max_frechet_loss, budget.max_peak_bytes, budget.max_size_bytes)
    is_bounded = any(bound is not None for bound in later)
    if goal not in ("latency", "throughput") or is_bounded or waits_for not in inside:
        return ""
    return f"skipped: {waits_for}, which is inside the budget, is {difference}"
