"""Fréchet distance and loss of kept candidates, where real pictures were named or the loss is bounded."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gantune.errors import GantuneError
from gantune.quality.evaluation import EvaluateOptions, evaluate
from gantune.quality.gate import Budget, find_violations
from gantune.records.candidate import Candidate
from gantune.records.plan import Plan
from gantune.records.score import Score


def is_distribution_wanted(plan: Plan) -> bool:
    """Say whether the run has to look at distributions at all."""
    return plan.data is not None or "max_frechet_loss" in plan.budget


def fill_distances(
    candidates: Sequence[Candidate],
    order: Sequence[str],
    *,
    plan: Plan,
    budget: Budget,
    measure: Callable[[str], Mapping[str, Score]],
) -> tuple[Candidate, ...]:
    """Measure kept candidates in `order` until one meets the bound on the Fréchet loss; judge them again.

    A kept candidate behind the first that meets the bound is not measured: where the loss is bounded it is
    rejected as not known, else it stays.
    """
    found = {candidate.name: candidate for candidate in candidates}
    for name in order:
        filled = _fill(found[name], measure, budget, plan)
        found[name] = filled
        if filled.status == "kept":
            break
    return tuple(_reject_unknown(candidate, budget) for candidate in found.values())


def score_artifact(artifact_dir: Path, original: Path, plan: Plan) -> Mapping[str, Score]:
    """Score an artifact against its original on the same samples, and against the run's real pictures."""
    has_data = plan.data is not None
    options = EvaluateOptions(
        metrics=("frechet", "frechet_loss") if has_data else ("frechet_loss",),
        num_images=plan.num_images,
        seed=plan.seed,
        image_size=plan.image_size,
    )
    reference = None if plan.data is None else Path(plan.data)
    return evaluate(artifact_dir, against=original, reference=reference, options=options).scores


def _fill(
    candidate: Candidate, measure: Callable[[str], Mapping[str, Score]], budget: Budget, plan: Plan
) -> Candidate:
    assert candidate.quality is not None
    assert candidate.measured is not None
    try:
        scores = measure(candidate.name)
    except GantuneError as error:
        reason = f"{candidate.reason}; Fréchet distance not known: {error}"
        return candidate.model_copy(update={"reason": reason})
    distance, loss = scores.get("frechet"), scores["frechet_loss"]
    claim = loss.value if loss.high is None else loss.high
    quality = candidate.quality.model_copy(
        update={"frechet": None if distance is None else distance.value, "frechet_loss": claim}
    )
    violations = find_violations(
        budget,
        quality=quality,
        measured=candidate.measured,
        size_bytes=candidate.size_bytes or 0,
        image_error=plan.image_error,
    )
    judged: dict[str, object] = {"quality": quality}
    if violations:
        judged |= {"status": "rejected", "reason": "; ".join(violations)}
    return candidate.model_copy(update=judged)


def _reject_unknown(candidate: Candidate, budget: Budget) -> Candidate:
    is_known = candidate.quality is not None and candidate.quality.frechet_loss is not None
    if candidate.status != "kept" or budget.max_frechet_loss is None or is_known:
        return candidate
    reason = f"{candidate.reason}; its Fréchet loss was not measured, and the budget bounds it"
    return candidate.model_copy(update={"status": "rejected", "reason": reason})
