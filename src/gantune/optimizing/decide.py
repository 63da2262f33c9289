"""Decide: which candidates are kept, and which of them is the best."""

from collections.abc import Sequence

from gantune.quality.gate import Budget, ImageError, find_violations
from gantune.records.candidate import Candidate, ImageQuality, Interval, Measurement, Status
from gantune.records.plan import Goal

KEEP_ABOVE_SPEEDUP = 1.05


def decide(
    *,
    speedup_tuned: Interval,
    quality: ImageQuality,
    measured: Measurement,
    size_bytes: int,
    budget: Budget,
    image_error: ImageError,
    must_be_exact: bool,
    saving: float | None = None,
) -> tuple[Status, str]:
    """Say whether a measured candidate is kept, with the reason in one clause.

    It is kept when the lower end of its speedup interval over the tuned original exceeds 1.05 and nothing in
    the budget is violated; `must_be_exact` (asked for by `--precision fp32`) bounds the largest difference.
    `saving` replaces the speedup where the goal is memory or size: how many times the original has of it.
    """
    violations = find_violations(
        budget, quality=quality, measured=measured, size_bytes=size_bytes, image_error=image_error
    )
    if must_be_exact and not quality.is_exact:
        violations.append(f"the largest difference {quality.max_abs:.2g} is not exact")
    if violations:
        return "rejected", "; ".join(violations)
    if saving is not None:
        if not saving > KEEP_ABOVE_SPEEDUP:
            return "rejected", f"not smaller: the original has {saving:.2f} times as much"
        return "kept", f"the original has {saving:.2f} times as much, inside the budget"
    if not speedup_tuned.low > KEEP_ABOVE_SPEEDUP:
        return (
            "rejected",
            f"not faster: {speedup_tuned.median:.2f}× ({speedup_tuned.low:.2f} to {speedup_tuned.high:.2f}) "
            f"over the tuned original; the lower end must exceed {KEEP_ABOVE_SPEEDUP}",
        )
    return "kept", f"{speedup_tuned.median:.2f}× the tuned original, inside the budget"


def pick_best(
    candidates: Sequence[Candidate], *, goal: Goal, stopped: frozenset[str] = frozenset()
) -> Candidate | None:
    """Pick the kept candidate that serves the goal best, None for none; `stopped` ones lost on the way."""
    kept = [one for one in candidates if one.status == "kept" and one.name not in stopped]
    return min(kept, key=lambda candidate: rank_by_goal(candidate, goal), default=None)


def rank_by_goal(candidate: Candidate, goal: Goal) -> float:
    """Give the figure that the goal makes small: latency, time an image, peak memory or size."""
    if goal == "throughput":
        return -(candidate.throughput_images_s or 0.0)
    if goal == "memory":
        return float("inf") if candidate.peak_bytes is None else candidate.peak_bytes
    if goal == "size":
        return float("inf") if candidate.size_bytes is None else candidate.size_bytes
    return float("inf") if candidate.latency_ms is None else candidate.latency_ms.p50


def word_verdict(best: Candidate | None) -> str:
    """Say the outcome of a run in one sentence."""
    if best is None:
        return "Keep the original: no candidate was both better than 1.05× and inside the budget."
    assert best.speedup_tuned is not None
    assert best.speedup_as_is is not None
    return (
        f"{best.name} is {best.speedup_as_is.median:.1f}× the original as it is, and "
        f"{best.speedup_tuned.median:.1f}× the original with a tuned allocator."
    )
