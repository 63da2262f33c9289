"""The planner: walk the decision tree, and judge every offer by the rules of the branch it leads to."""

from collections.abc import Sequence

from gantune.backends import Backend
from gantune.optimizing.decision_tree import Branch, Path, walk_tree
from gantune.optimizing.offers import Offer, list_offers
from gantune.optimizing.rules import judge_offer
from gantune.optimizing.situation import Situation as Situation
from gantune.records.plan import PlannedCandidate, Step

# A run compares with the tuned original, so every artifact gets the same allocator.
TUNED = Step(kind="environment", name="allocator", options={"tuned": True})


def plan_candidates(situation: Situation, backends: Sequence[Backend]) -> tuple[PlannedCandidate, ...]:
    """Judge every offer, those of the branch first; a skipped one stays in the plan with its reason."""
    return decide_plan(situation, backends)[1]


def decide_plan(
    situation: Situation, backends: Sequence[Backend]
) -> tuple[Branch, tuple[PlannedCandidate, ...], Path]:
    """Return the branch, all candidates, and the decisions that led there."""
    branch, path = walk_tree(situation)
    offers = sorted(list_offers(situation.family, backends), key=lambda offer: _rank(offer, branch))
    return branch, tuple(_judge(offer, branch, situation) for offer in offers), path


def _rank(offer: Offer, branch: Branch) -> tuple[int, int]:
    """Order by the branch: its precisions first, then its engines; what it does not name comes last."""
    precision = branch.precisions.index(offer.precision) if offer.precision in branch.precisions else 99
    engine = branch.engines.index(offer.engine) if offer.engine in branch.engines else 99
    return (precision, engine) if engine < 99 else (99, 99)


def _judge(offer: Offer, branch: Branch, situation: Situation) -> PlannedCandidate:
    is_tried, why = judge_offer(offer, branch, situation)
    return PlannedCandidate(
        name=offer.name,
        engine=offer.engine,
        precision=offer.precision,
        steps=(*offer.steps, Step(kind="engine", name=offer.engine), TUNED),
        why=why,
        is_skipped=not is_tried,
    )
