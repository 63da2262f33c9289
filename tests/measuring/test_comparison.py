import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from artifact_samples import write_onnx_artifact
from gantune.errors import UsageError
from gantune.measuring import comparison, worker_pool
from gantune.measuring.comparison import ComparisonOptions, compare_subjects
from gantune.measuring.subject import (
    ArtifactSource,
    CheckpointSource,
    Subject,
    as_is_baseline,
    tuned_baseline,
)
from gantune.measuring.worker_pool import WorkerPool
from gantune.records.fallback import FormFallback
from gantune.records.measurement import Comparison

OPTIONS = ComparisonOptions(num_rounds=4, min_visit_ms=1, throughput_batch_sizes=(1, 4))


@pytest.fixture
def source(tmp_path: Path) -> ArtifactSource:
    write_onnx_artifact(tmp_path)
    return ArtifactSource(directory=tmp_path)


SLOWER = FormFallback(operation="bias_act", wanted="native", used="portable", reason="not built")


class ScriptedWorker:
    """Answer with made-up times: a subject called "x3" takes 3 ms, times a drift common to a round."""

    visits: list[str]
    closed: list[str]
    loaded: list[str]
    drift: list[float]

    def __init__(self, subject: Subject, *, timeout_s: float) -> None:
        self.name = subject.name
        self.num_runs = 0

    def __enter__(self) -> "ScriptedWorker":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def close(self) -> None:
        self.closed.append(self.name)

    def load(self) -> float:
        self.loaded.append(self.name)
        return 7.0

    def prepare(self, **_: int) -> None:
        return None

    def run(self, num_calls: int) -> tuple[list[float], list[float]]:
        self.visits.append(self.name)
        self.num_runs += 1
        factor = self.drift[self.num_runs % len(self.drift)]
        return [float(self.name[1:]) * factor] * num_calls, [0.0] * num_calls

    def facts(self) -> dict[str, object]:
        facts = {"peak_bytes": 1, "live_bytes": None, "allocator": "glibc", "precision_used": "fp32"}
        return facts | {"fallbacks": [SLOWER.model_dump()] if self.name == "x9" else []}


def compare_scripted(
    monkeypatch: pytest.MonkeyPatch,
    names: list[str],
    options: ComparisonOptions,
    drift: list[float],
    eliminate: comparison.Eliminate | None = None,
    is_decided: comparison.IsDecided | None = None,
    pool: WorkerPool | None = None,
) -> Comparison:
    monkeypatch.setattr(ScriptedWorker, "visits", [], raising=False)
    monkeypatch.setattr(ScriptedWorker, "closed", [], raising=False)
    monkeypatch.setattr(ScriptedWorker, "loaded", [], raising=False)
    monkeypatch.setattr(ScriptedWorker, "drift", drift, raising=False)
    monkeypatch.setattr(worker_pool, "WorkerProcess", ScriptedWorker)
    source = CheckpointSource(path=Path("x"))
    subjects = [Subject(name=name, source=source) for name in names]
    return compare_subjects(subjects, options, eliminate=eliminate, is_decided=is_decided, pool=pool)


def test_the_ratio_is_paired_so_that_drift_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ComparisonOptions(num_rounds=15, min_visit_ms=1e-9, baselines=("x6",))
    compared = compare_scripted(monkeypatch, ["x6", "x3"], options, [1.0, 5.0, 0.2, 30.0])
    speedup = compared.speedups["x3"]["x6"]
    assert (speedup.median, speedup.low, speedup.high) == (2.0, 2.0, 2.0)
    assert compared.speedups["x6"]["x6"].median == 1.0


def test_every_round_starts_with_another_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ComparisonOptions(num_rounds=3, min_visit_ms=1e-9)
    compare_scripted(monkeypatch, ["x1", "x2", "x3"], options, [1.0])
    rounds = ScriptedWorker.visits[6:]
    assert rounds == ["x1", "x2", "x3", "x2", "x3", "x1", "x3", "x1", "x2"]


def test_a_spent_budget_ends_the_rounds_after_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ComparisonOptions(num_rounds=15, budget_s=0)
    compared = compare_scripted(monkeypatch, ["x1"], options, [1.0])
    assert compared.num_rounds == 1
    assert not compared.is_complete


def test_a_hopeless_subject_is_stopped_and_keeps_what_it_showed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, int]] = []

    def eliminate(rounds_ms: Mapping[str, Sequence[float]]) -> dict[str, str]:
        seen.append({name: len(rounds) for name, rounds in rounds_ms.items()})
        return {"x9": "too slow"} if len(seen) == 2 else {}

    options = ComparisonOptions(num_rounds=4, min_visit_ms=1e-9, baselines=("x3",))
    compared = compare_scripted(monkeypatch, ["x3", "x9"], options, [1.0, 5.0, 0.2], eliminate=eliminate)
    assert seen == [{"x3": 1, "x9": 1}, {"x3": 2, "x9": 2}, {"x3": 3}, {"x3": 4}]
    assert compared.stopped == {"x9": "too slow"}
    stopped = compared.result("x9")
    assert stopped.status == "measured"
    assert stopped.fallbacks == (SLOWER,)
    assert compared.result("x3").fallbacks == ()
    assert stopped.measured is not None
    assert stopped.measured.latency_ms.n == 2
    # The stopped one at once, the other when all is done.
    assert ScriptedWorker.closed == ["x9", "x3"]
    assert compared.speedups["x9"]["x3"].median == pytest.approx(1 / 3)


def test_a_clear_answer_ends_all_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ComparisonOptions(num_rounds=9, min_visit_ms=1e-9)
    compared = compare_scripted(
        monkeypatch, ["x1", "x2"], options, [1.0], is_decided=lambda rounds_ms: len(rounds_ms["x2"]) == 4
    )
    assert compared.num_rounds == 4
    assert not compared.is_complete


def test_a_pool_keeps_what_is_loaded_for_the_next_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ComparisonOptions(num_rounds=3, min_visit_ms=1e-9)
    with WorkerPool() as pool:
        compare_scripted(
            monkeypatch,
            ["x1", "x2", "x9"],
            options,
            [1.0],
            lambda rounds: {"x9": "slow"} if "x9" in rounds else {},
            pool=pool,
        )
        assert (ScriptedWorker.loaded, ScriptedWorker.closed) == (["x1", "x2", "x9"], ["x9"])
        compared = compare_scripted(monkeypatch, ["x1", "x3", "x9"], options, [1.0], pool=pool)
        assert (ScriptedWorker.loaded, ScriptedWorker.closed) == (["x3", "x9"], [])
    assert sorted(ScriptedWorker.closed) == ["x1", "x2", "x3", "x9"]
    kept = compared.result("x1").measured
    assert kept is not None
    assert (kept.load_ms, kept.first_call_ms, kept.latency_ms.n) == (7.0, 1.0, 3)


def test_a_fast_subject_is_called_until_the_visit_is_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ComparisonOptions(num_rounds=2, min_visit_ms=10)
    compared = compare_scripted(monkeypatch, ["x4"], options, [1.0])
    measured = compared.result("x4").measured
    assert measured is not None
    assert measured.latency_ms.n == 2 * 3
    assert measured.throughput_images_s == pytest.approx(250)


def test_a_disturbed_warm_up_does_not_shorten_the_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ComparisonOptions(num_rounds=3, num_warmup=2, min_visit_ms=40)
    # The first call and the warm-up are ten times as slow, and the rounds after them are not.
    compared = compare_scripted(monkeypatch, ["x4"], options, [1.0, 10.0, 10.0, 1.0, 1.0, 1.0, 1.0])
    measured = compared.result("x4").measured
    assert measured is not None
    # One call in the first round, which shows how fast it is, and ten in each of the others.
    assert measured.latency_ms.n == 1 + 10 + 10


def test_every_process_has_started_before_the_first_is_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    load, run = ScriptedWorker.load, ScriptedWorker.run

    def note_load(self: ScriptedWorker) -> float:
        events.append(f"load {self.name}")
        return load(self)

    def note_run(self: ScriptedWorker, num_calls: int) -> tuple[list[float], list[float]]:
        events.append(f"run {self.name}")
        return run(self, num_calls)

    monkeypatch.setattr(ScriptedWorker, "load", note_load)
    monkeypatch.setattr(ScriptedWorker, "run", note_run)
    compare_scripted(monkeypatch, ["x1", "x2"], ComparisonOptions(num_rounds=1), [1.0])
    assert events[:3] == ["load x1", "load x2", "run x1"]


def test_artifacts_are_measured_side_by_side(source: ArtifactSource) -> None:
    compared = compare_subjects(
        [as_is_baseline(source, threads=1), tuned_baseline(source, threads=1)], OPTIONS
    )
    assert compared.is_complete
    assert compared.num_rounds == 4
    assert set(compared.speedups) == {"as_is", "tuned"}
    as_is, tuned = compared.result("as_is"), compared.result("tuned")
    assert as_is.allocator == "glibc"
    assert tuned.allocator.startswith("glibc (tuned by MALLOC_MMAP_THRESHOLD_")
    assert tuned.measured is not None
    assert [point.batch for point in tuned.measured.throughput] == [1, 4]
    assert tuned.measured.peak_bytes > 2**24
    assert Comparison.model_validate_json(compared.model_dump_json()) == compared


def test_a_subject_that_dies_fails_and_the_others_go_on(
    source: ArtifactSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = comparison.WorkerProcess.run
    runs = 0

    def run_or_die(self: comparison.WorkerProcess, num_calls: int) -> tuple[list[float], list[float]]:
        nonlocal runs
        runs += self.subject.name == "doomed"
        if runs == 4 and self.subject.name == "doomed":
            os.kill(self.process_id, signal.SIGKILL)
        return run(self, num_calls)

    monkeypatch.setattr(comparison.WorkerProcess, "run", run_or_die)
    missing = ArtifactSource(directory=source.directory / "missing")
    compared = compare_subjects(
        [
            Subject(name="as_is", source=source),
            Subject(name="doomed", source=source),
            Subject(name="missing", source=missing),
        ],
        OPTIONS,
    )
    assert compared.result("as_is").status == "measured"
    assert compared.result("doomed").status == "failed"
    assert "SIGKILL" in compared.result("doomed").reason
    assert "is not an artifact" in compared.result("missing").reason
    assert set(compared.speedups) == {"as_is"}


def test_subjects_of_one_name_are_refused(source: ArtifactSource) -> None:
    with pytest.raises(UsageError, match="names must differ"):
        compare_subjects([Subject(name="a", source=source)] * 2, OPTIONS)
    with pytest.raises(UsageError, match="at least one"):
        compare_subjects([], OPTIONS)


def test_senseless_options_are_refused() -> None:
    with pytest.raises(UsageError, match="num_rounds is 0"):
        ComparisonOptions(num_rounds=0)
