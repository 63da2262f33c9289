from collections.abc import Mapping

from gantune.errors import UnavailableError
from gantune.optimizing.distribution import fill_distances, is_distribution_wanted
from gantune.quality.gate import Budget
from gantune.records.candidate import Candidate
from gantune.records.score import Score, ScoreIdentity
from report_samples import make_report

PLAN = make_report().plan


def kept(name: str) -> Candidate:
    one = make_report().candidates[0]
    assert one.quality is not None
    quality = one.quality.model_copy(update={"frechet": None, "frechet_loss": None})
    return one.model_copy(update={"name": name, "quality": quality})


def scores(distance: float, loss: float, high: float) -> dict[str, Score]:
    def score(value: float, **ends: float) -> Score:
        identity = ScoreIdentity(metric="frechet", features="f", num_images=10)
        return Score(value=value, identity=identity, **ends)  # type: ignore[arg-type]

    return {"frechet": score(distance), "frechet_loss": score(loss, low=0.0, high=high)}


def fill(known: Mapping[str, dict[str, Score]], budget: Budget) -> tuple[dict[str, Candidate], list[str]]:
    asked: list[str] = []

    def measure(name: str) -> Mapping[str, Score]:
        asked.append(name)
        if name not in known:
            raise UnavailableError("the features are not installed")
        return known[name]

    filled = fill_distances([kept("a"), kept("b")], ["a", "b"], plan=PLAN, budget=budget, measure=measure)
    return {one.name: one for one in filled}, asked


def test_the_upper_end_of_the_interval_is_what_is_claimed() -> None:
    found, asked = fill({"a": scores(9.5, 0.01, 0.018)}, Budget())
    assert asked == ["a"]
    quality = found["a"].quality
    assert quality is not None
    assert (quality.frechet, quality.frechet_loss) == (9.5, 0.018)
    assert found["a"].status == "kept"
    assert found["b"].status == "kept"


def test_one_above_the_bound_is_rejected_and_the_next_one_is_measured() -> None:
    known = {"a": scores(9.5, 0.01, 0.05), "b": scores(9.1, 0.0, 0.015)}
    found, asked = fill(known, Budget(max_frechet_loss=0.02))
    assert asked == ["a", "b"]
    assert found["a"].status == "rejected"
    assert "Fréchet loss 0.05" in found["a"].reason
    assert found["b"].status == "kept"


def test_where_the_loss_is_bounded_nothing_is_kept_unmeasured() -> None:
    found, _ = fill({"a": scores(9.5, 0.01, 0.015)}, Budget(max_frechet_loss=0.02))
    assert found["b"].status == "rejected"
    assert "was not measured" in found["b"].reason
    found, _ = fill({}, Budget(max_frechet_loss=0.02))
    assert {one.status for one in found.values()} == {"rejected"}
    assert "not installed" in found["a"].reason


def test_distributions_are_looked_at_only_where_they_are_asked_for() -> None:
    assert is_distribution_wanted(PLAN.model_copy(update={"data": "pictures", "budget": {}}))
    assert is_distribution_wanted(PLAN.model_copy(update={"data": None, "budget": {"max_frechet_loss": 0.1}}))
    assert not is_distribution_wanted(PLAN.model_copy(update={"data": None, "budget": {}}))
