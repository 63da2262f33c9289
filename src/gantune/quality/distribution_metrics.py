"""Metrics of a set of images, most of them against reference data: the catalogue."""

from collections.abc import Callable
from dataclasses import dataclass

from gantune.errors import UnsupportedError
from gantune.quality import fid_inception
from gantune.quality.difference import interval, resample_means
from gantune.quality.feature_sets import FeatureSet
from gantune.quality.features import FeatureNetwork
from gantune.quality.frechet import frechet_distance
from gantune.quality.frechet_loss import influence
from gantune.quality.inception_score import inception_score
from gantune.quality.kernel import kernel_distance
from gantune.quality.precision_recall import manifold_scores
from gantune.quality.reference_cache import ReferenceStatistics
from gantune.records.score import Score, ScoreIdentity

Compute = Callable[[FeatureSet, ReferenceStatistics | None, FeatureNetwork], dict[str, Score]]

_NUM_NEIGHBORS = 3


@dataclass(frozen=True)
class DistributionMetric:
    """A name a user may ask for, and its scores; `needs_reference` where it compares with real data."""

    name: str
    compute: Compute
    needs_reference: bool = True


def name_frechet(network: FeatureNetwork) -> str:
    """Give "fid" for the features that FID is defined on, else "frechet": other features are never FID."""
    return "fid" if network.name == fid_inception.NAME else "frechet"


def _frechet(
    fake: FeatureSet, reference: ReferenceStatistics | None, network: FeatureNetwork
) -> dict[str, Score]:
    assert reference is not None
    found = frechet_distance(fake.moments, reference.features.moments)
    low = high = None
    if len(fake.features) == fake.n and fake.n > fake.moments.num_features:
        values = influence(fake.features, fake.moments, reference.features.moments)
        low, high = interval(found.value + resample_means(values[:, None], num_resamples=1000, seed=0)[:, 0])
    name = name_frechet(network)
    score = Score(
        value=found.value,
        low=low,
        high=high,
        identity=_identify(name, fake.n, reference, network),
        details={"raw": found.raw, "rank": float(found.ranks[0]), "reference_rank": float(found.ranks[1])},
        warnings=found.warnings,
    )
    return {name: score}


def _kernel(
    fake: FeatureSet, reference: ReferenceStatistics | None, network: FeatureNetwork
) -> dict[str, Score]:
    assert reference is not None
    found = kernel_distance(fake.features, reference.features.features)
    identity = _identify("kid", len(fake.features), reference, network)
    identity = identity.model_copy(update={"settings": {"subset_size": float(found.subset_size)}})
    return {"kid": Score(value=found.value, low=found.low, high=found.high, identity=identity)}


def _manifold(
    fake: FeatureSet, reference: ReferenceStatistics | None, network: FeatureNetwork
) -> dict[str, Score]:
    assert reference is not None
    found = manifold_scores(reference.features.features, fake.features, num_neighbors=_NUM_NEIGHBORS)
    scores = {}
    for name in ("precision", "recall", "density", "coverage"):
        identity = _identify(name, len(fake.features), reference, network)
        identity = identity.model_copy(update={"settings": {"num_neighbors": float(_NUM_NEIGHBORS)}})
        scores[name] = Score(value=getattr(found, name), identity=identity)
    return scores


def _inception_score(
    fake: FeatureSet, reference: ReferenceStatistics | None, network: FeatureNetwork
) -> dict[str, Score]:
    if fake.logits is None:
        raise UnsupportedError(f"The features {network.name} have no classifier, which this score needs.")
    num_splits = min(10, len(fake.logits) // 2)
    mean, deviation = inception_score(fake.logits, num_splits=num_splits)
    identity = _identify("inception_score", len(fake.logits), None, network)
    identity = identity.model_copy(update={"settings": {"num_splits": float(num_splits)}})
    score = Score(value=mean, identity=identity, details={"standard_deviation": deviation})
    return {"inception_score": score}


def _identify(
    metric: str, n: int, reference: ReferenceStatistics | None, network: FeatureNetwork
) -> ScoreIdentity:
    return ScoreIdentity(
        metric=metric,
        features=network.name,
        weights_sha256=network.weights_sha256,
        resize=network.resize_identity,
        num_images=n,
        reference_sha256=None if reference is None else reference.data_sha256,
    )


DISTRIBUTION_METRICS: tuple[DistributionMetric, ...] = (
    DistributionMetric("frechet", _frechet),
    DistributionMetric("kid", _kernel),
    DistributionMetric("precision_recall", _manifold),
    DistributionMetric("inception_score", _inception_score, needs_reference=False),
)
