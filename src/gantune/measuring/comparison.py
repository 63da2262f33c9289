"""Measure several subjects in interleaved rounds and give each one's paired speedup over the baselines.

A round visits every subject once, in rotated order, so that slow drift of the machine meets all of them
alike; the ratio of two subjects is taken within a round, and its median over the rounds is the speedup.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np
from pydantic import TypeAdapter

from gantune.errors import UsageError
from gantune.measuring.bootstrap import bootstrap_median
from gantune.measuring.latency import Deadline, summarize_durations
from gantune.measuring.process import WorkerError, WorkerProcess
from gantune.measuring.subject import Subject
from gantune.measuring.worker_pool import PooledWorker, WorkerPool
from gantune.records.candidate import Interval, Measurement, Throughput
from gantune.records.fallback import FormFallback
from gantune.records.measurement import Comparison, SubjectResult

_FALLBACKS = TypeAdapter(tuple[FormFallback, ...])
_MAX_CALLS_A_VISIT = 200


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """Say how to compare.

    A subject faster than `min_visit_ms` runs several times in a round, after one call that does not count: it
    brings back caches that the others used. `budget_s` ends the rounds early, never before the first.
    Throughput is taken at each of `throughput_batch_sizes`, over `num_throughput_calls`.
    """

    batch_size: int = 1
    seed: int = 0
    image_size: int = 64
    num_rounds: int = 15
    num_warmup: int = 2
    min_visit_ms: float = 100
    budget_s: float | None = None
    timeout_s: float = 900
    throughput_batch_sizes: tuple[int, ...] = ()
    num_throughput_calls: int = 3
    baselines: tuple[str, ...] = ("as_is", "tuned")

    def __post_init__(self) -> None:
        for name in ("batch_size", "image_size", "num_rounds", "num_warmup", "num_throughput_calls"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; it must be at least 1")


@dataclass
class _Visit:
    """Hold what one live worker has shown so far."""

    subject: Subject
    pooled: PooledWorker
    pool: WorkerPool
    best_ms: float = math.inf
    rounds_ms: list[float] = field(default_factory=list)
    durations_ms: list[float] = field(default_factory=list)
    faults: list[float] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)
    throughput: list[Throughput] = field(default_factory=list)
    failure: str = ""
    stopped: str = ""

    @property
    def worker(self) -> WorkerProcess:
        """Give the process."""
        return self.pooled.worker

    def end(self) -> None:
        """End the process."""
        self.pool.drop(self.subject)


Eliminate = Callable[[Mapping[str, Sequence[float]]], Mapping[str, str]]
"""Called after each round with the milliseconds of every subject that runs; names those to stop, and why."""

IsDecided = Callable[[Mapping[str, Sequence[float]]], bool]
"""Called after each round with the same; True ends the rounds."""

_Step = Callable[[_Visit, ComparisonOptions], None]


def compare_subjects(
    subjects: Sequence[Subject],
    options: ComparisonOptions,
    *,
    eliminate: Eliminate | None = None,
    is_decided: IsDecided | None = None,
    pool: WorkerPool | None = None,
) -> Comparison:
    """Measure all subjects, each in its own process, in interleaved rounds.

    A subject that refuses or dies becomes a failed result that says why; the others go on. One that
    `eliminate` stops keeps what it has shown so far, and its process ends; `is_decided` ends all rounds.
    The processes of the others stay in `pool` for the next comparison; without one they end too.
    """
    names = [subject.name for subject in subjects]
    if len(set(names)) != len(names) or not names:
        raise UsageError(f"subjects are named {names}; names must differ, and at least one is needed")
    deadline = Deadline(options.budget_s)
    with ExitStack() as stack:
        held = pool if pool is not None else stack.enter_context(WorkerPool())
        visits = [
            _Visit(subject, held.take(subject, timeout_s=options.timeout_s), held) for subject in subjects
        ]
        # All of them first: a process that still starts would disturb the warm-up of another.
        for visit in visits:
            _attempt(visit, _load, options)
        for visit in visits:
            _attempt(visit, _warm_up, options)
        num_rounds = _run_rounds(visits, options, deadline, eliminate, is_decided)
        for visit in visits:
            _attempt(visit, _take_facts, options)
    return Comparison(
        results=tuple(_result(visit, options) for visit in visits),
        speedups=_speedups(visits, options.baselines),
        num_rounds=num_rounds,
        is_complete=num_rounds == options.num_rounds,
        stopped={visit.subject.name: visit.stopped for visit in visits if visit.stopped},
    )


def _run_rounds(
    visits: list[_Visit],
    options: ComparisonOptions,
    deadline: Deadline,
    eliminate: Eliminate | None,
    is_decided: IsDecided | None,
) -> int:
    for index in range(options.num_rounds):
        if index and deadline.is_over:
            return index
        start = index % len(visits)
        for visit in visits[start:] + visits[:start]:
            _attempt(visit, _take_round, options)
        if eliminate is not None:
            _stop_hopeless(visits, options, eliminate)
        if is_decided is not None and is_decided(_running(visits)):
            return index + 1
    return options.num_rounds


def _running(visits: list[_Visit]) -> dict[str, list[float]]:
    return {
        visit.subject.name: visit.rounds_ms for visit in visits if not visit.failure and not visit.stopped
    }


def _stop_hopeless(visits: list[_Visit], options: ComparisonOptions, eliminate: Eliminate) -> None:
    named = {visit.subject.name: visit for visit in visits}
    for name, reason in eliminate(_running(visits)).items():
        visit = named[name]
        _attempt(visit, _take_facts, options)
        visit.stopped = reason
        visit.end()


def _attempt(visit: _Visit, step: _Step, options: ComparisonOptions) -> None:
    if visit.failure or visit.stopped:
        return
    try:
        step(visit, options)
    except WorkerError as error:
        visit.failure = str(error)
        visit.end()


def _load(visit: _Visit, _options: ComparisonOptions) -> None:
    visit.pooled.load()


def _warm_up(visit: _Visit, options: ComparisonOptions) -> None:
    visit.worker.prepare(batch_size=options.batch_size, seed=options.seed, image_size=options.image_size)
    if visit.pooled.first_call_ms is None:
        (visit.pooled.first_call_ms,), _ = visit.worker.run(1)
    durations, _ = visit.worker.run(options.num_warmup)
    visit.best_ms = min(durations)


def _take_round(visit: _Visit, options: ComparisonOptions) -> None:
    # From the best call so far: one that was disturbed says nothing about how many calls fill a visit.
    num_calls = math.ceil(options.min_visit_ms / max(visit.best_ms, 1e-3))
    num_calls = min(max(num_calls, 1), _MAX_CALLS_A_VISIT)
    num_uncounted = 1 if num_calls > 1 else 0
    durations, faults = visit.worker.run(num_uncounted + num_calls)
    visit.best_ms = min(visit.best_ms, *durations)
    counted = durations[num_uncounted:]
    visit.rounds_ms.append(float(np.median(counted)))
    visit.durations_ms.extend(counted)
    visit.faults.extend(faults[num_uncounted:])


def _take_facts(visit: _Visit, options: ComparisonOptions) -> None:
    """Read memory at the compared batch size, before other batch sizes raise its peak."""
    visit.facts = visit.worker.facts()
    for batch_size in options.throughput_batch_sizes:
        visit.worker.prepare(batch_size=batch_size, seed=options.seed, image_size=options.image_size)
        visit.worker.run(1)
        durations, _ = visit.worker.run(options.num_throughput_calls)
        images_s = batch_size * 1e3 / float(np.median(durations))
        visit.throughput.append(Throughput(batch=batch_size, images_s=images_s))


def _result(visit: _Visit, options: ComparisonOptions) -> SubjectResult:
    subject = visit.subject
    result = SubjectResult(
        name=subject.name,
        status="failed" if visit.failure else "measured",
        reason=visit.failure,
        batch_size=options.batch_size,
        threads=subject.threads,
        environment=subject.environment,
    )
    if visit.failure:
        return result
    latency = summarize_durations(visit.durations_ms)
    live_bytes = visit.facts["live_bytes"]
    load_ms, first_call_ms = visit.pooled.load_ms, visit.pooled.first_call_ms
    assert load_ms is not None
    assert first_call_ms is not None
    measured = Measurement(
        latency_ms=latency,
        throughput=tuple(visit.throughput),
        throughput_images_s=options.batch_size * 1e3 / latency.p50,
        peak_bytes=int(str(visit.facts["peak_bytes"])),
        live_bytes=None if live_bytes is None else int(str(live_bytes)),
        minor_faults=float(np.median(visit.faults)),
        load_ms=load_ms,
        first_call_ms=first_call_ms,
    )
    found = {name: str(visit.facts[name]) for name in ("allocator", "precision_used")}
    fallbacks = _FALLBACKS.validate_python(visit.facts["fallbacks"])
    return result.model_copy(update={"measured": measured, "fallbacks": fallbacks, **found})


def _speedups(visits: list[_Visit], baselines: Sequence[str]) -> dict[str, dict[str, Interval]]:
    alive = {visit.subject.name: visit.rounds_ms for visit in visits if not visit.failure}
    return {
        name: {
            baseline: bootstrap_median(
                # A subject that was stopped early has fewer rounds: those it shared with the baseline.
                [base / own for base, own in zip(alive[baseline], rounds_ms, strict=False)]
            )
            for baseline in baselines
            if baseline in alive
        }
        for name, rounds_ms in alive.items()
    }
