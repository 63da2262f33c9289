import pytest
from pydantic import ValidationError

from gantune.errors import UsageError
from gantune.quality.scores import subtract_scores
from gantune.records.score import Score, ScoreIdentity


def score(value: float, **changes: object) -> Score:
    values: dict[str, object] = {"metric": "frechet", "features": "efficientnet-lite0", "num_images": 100}
    return Score(value=value, identity=ScoreIdentity.model_validate(values | changes))


def test_scores_of_one_identity_are_subtracted() -> None:
    assert subtract_scores(score(3), score(1)) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"features": "inception-v3-fid"},
        {"weights_sha256": "0" * 64},
        {"resize": "legacy to 299"},
        {"pixels": "float"},
        {"num_images": 101},
        {"reference_sha256": "1" * 64},
        {"settings": {"num_neighbors": 5}},
    ],
)
def test_scores_that_differ_in_anything_are_not(change: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(change))):
        subtract_scores(score(3, **change), score(1))


def test_a_score_without_named_features_is_refused() -> None:
    with pytest.raises(ValidationError, match="features"):
        score(1, features="")
