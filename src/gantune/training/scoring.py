"""Score a run's snapshots against its data: one line of `metrics.jsonl` a snapshot."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gantune.errors import UsageError
from gantune.measuring.stopwatch import Stopwatch
from gantune.quality import fid_inception
from gantune.quality.evaluation import EvaluateOptions, evaluate
from gantune.quality.feature_catalogue import FeatureOptions, open_features

METRICS_FILE = "metrics.jsonl"
_BATCH = 50
# What the field calls a metric, and what `evaluate` calls it.
_EVALUATED = {"fid": "frechet", "frechet": "frechet", "kid": "kid", "pr": "precision_recall"}
METRIC_NAMES = tuple(_EVALUATED)


@dataclass(frozen=True)
class Scoring:
    """Which metrics, over how many generated images, by which features.

    `fid` needs the features that FID is defined on; over any others the same distance is `frechet`. Raise
    `UsageError` for an unknown metric or a `fid` of other features.
    """

    metrics: tuple[str, ...]
    num_images: int
    features: FeatureOptions

    def __post_init__(self) -> None:
        unknown = [name for name in self.metrics if name not in METRIC_NAMES]
        if unknown:
            raise UsageError(
                f"There is no metric {unknown[0]!r} of snapshots; the metrics are: {', '.join(METRIC_NAMES)}."
            )
        if "fid" in self.metrics and self.features.name != fid_inception.NAME:
            raise UsageError(
                f"FID is defined on {fid_inception.NAME}, not on {self.features.name}: ask for frechet, or "
                f"give --metric-features {fid_inception.NAME} with --metric-weights."
            )

    def check(self) -> None:
        """Open the features once, so that a run does not fail at its first snapshot."""
        open_features(self.features)


def score_snapshot(snapshot: Path, data: Path, scoring: Scoring, *, num_images: int) -> dict[str, float]:
    """Append the scores of `snapshot`, which has seen `num_images`, to its folder's file and return them."""
    watch = Stopwatch()
    options = EvaluateOptions(
        metrics=tuple(dict.fromkeys(_EVALUATED[name] for name in scoring.metrics)),
        num_images=scoring.num_images,
        batch=_BATCH,
        features=scoring.features,
    )
    found = evaluate(snapshot, reference=data, options=options)
    scores = {name: score.model_dump(mode="json") for name, score in found.scores.items()}
    line = {
        "num_images": num_images,
        "snapshot": snapshot.name,
        "seconds": watch.elapsed_s,
        "scores": scores,
    }
    with (snapshot.parent / METRICS_FILE).open("a") as stream:
        stream.write(json.dumps(line) + "\n")
    return {name: score.value for name, score in found.scores.items()}


def describe_scores(scores: Mapping[str, float]) -> str:
    """Return one line for a person who is watching."""
    return "scores: " + ", ".join(f"{name} {value:.4g}" for name, value in scores.items())
