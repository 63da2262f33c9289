import json

import pytest

from gantune.errors import UsageError
from gantune.quality.feature_catalogue import FeatureOptions
from gantune.records.score import Evaluation, Score, ScoreIdentity
from gantune.training import train
from gantune.training.scoring import METRICS_FILE, Scoring
from training_samples import small_request

FEATURES = FeatureOptions()


def evaluation(value):
    identity = ScoreIdentity(metric="frechet", features="f", num_images=8)
    return Evaluation(subject="s", scores={"frechet": Score(value=value, identity=identity)})


def test_every_snapshot_is_scored_against_the_data(tmp_path, monkeypatch):
    asked = []

    def evaluate(subject, *, reference, options):
        asked.append((subject.name, reference.name, options.metrics, options.num_images))
        return evaluation(float(len(asked)))

    monkeypatch.setattr("gantune.training.scoring.evaluate", evaluate)
    monkeypatch.setattr(Scoring, "check", lambda self: None)
    request = small_request(tmp_path, kimg=0.048, scoring=Scoring(("frechet", "pr"), 8, FEATURES))
    lines = []
    run = train(request, on_progress=lines.append).run
    snapshot = ("network-snapshot-000000.safetensors", "data.zip", ("frechet", "precision_recall"), 8)
    assert asked == [snapshot, snapshot]
    written = [json.loads(line) for line in (run / METRICS_FILE).read_text().splitlines()]
    assert [line["num_images"] for line in written] == [32, 48]
    assert [line["scores"]["frechet"]["value"] for line in written] == [1, 2]
    assert "scores: frechet 2" in lines
    # A run that goes on behind a state forgets the scores of what it trains again.
    train(small_request(tmp_path, kimg=0.048, resume=run))
    assert len((run / METRICS_FILE).read_text().splitlines()) == 2


def test_an_unknown_metric_is_refused():
    with pytest.raises(UsageError, match="no metric 'is' of snapshots; the metrics are: fid, frechet"):
        Scoring(("is",), 8, FEATURES)


def test_fid_of_other_features_is_refused():
    with pytest.raises(UsageError, match="FID is defined on inception-v3-fid, not on efficientnet-lite0"):
        Scoring(("fid",), 8, FEATURES)
