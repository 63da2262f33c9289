"""Decide: which candidates are kept, and which of them is the best."""

from collections.abc import Sequence

from gantune.optimizing.planner import Goal
from gantune.quality.gate import Budget, ImageError, find_violations
from gantune.records.candidate import Candidate, ImageQuality, Interval, Measurement, Status

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
) -> tuple[Status, str]:
    """Say whether a measured candidate is kept, with the reason in one clause.

    It is kept when the lower end of its speedup interval over the tuned original exceeds 1.05 and nothing in
    the budget is violated; `must_be_exact` (asked for by `--precision fp32`) bounds the largest difference.
    """
    violations = find_violations(
        budget, quality=quality, measured=measured, size_bytes=size_bytes, image_error=image_error
    )
    if must_be_exact and not quality.is_exact:
        violations.append(f"the largest difference {quality.max_abs:.2g} is not exact")
    if violations:
        return "rejected", "; ".join(violations)
    if not speedup_tuned.low > KEEP_ABOVE_SPEEDUP:
        return (
            "rejected",
            f"not faster: {speedup_tuned.median:.2f}× ({speedup_tuned.low:.2f} to {speedup_tuned.high:.2f}) "
            f"over the tuned original; the lower end must exceed {KEEP_ABOVE_SPEEDUP}",
        )
    return "kept", f"{speedup_tuned.median:.2f}× the tuned original, inside the budget"


def pick_best(candidates: Sequence[Candidate], *, goal: Goal) -> Candidate | None:
    """Pick the kept candidate with the lowest median latency, or the highest throughput; None for none."""
    kept = [candidate for candidate in candidates if candidate.status == "kept"]
    if goal == "throughput":
        return max(kept, key=lambda candidate: candidate.throughput_images_s or 0.0, default=None)
    return min(kept, key=_latency_ms, default=None)


def _latency_ms(candidate: Candidate) -> float:
    return float("inf") if candidate.latency_ms is None else candidate.latency_ms.p50


def word_verdict(best: Candidate | None) -> str:
    """Say the outcome of a run in one sentence."""
    if best is None:
        return "Keep the original: no candidate was both faster than 1.05× and inside the budget."
    assert best.speedup_tuned is not None
    assert best.speedup_as_is is not None
    return (
        f"{best.name} is {best.speedup_as_is.median:.1f}× the original as it is, and "
        f"{best.speedup_tuned.median:.1f}× the original with a tuned allocator."
    )
