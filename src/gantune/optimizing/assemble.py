"""Put what a run found into its candidates and its report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

from gantune.checkpoints import Checkpoint
from gantune.errors import ScriptError, UsageError
from gantune.machine import TUNED_ALLOCATOR, describe_machine
from gantune.networks.contract import Network
from gantune.optimizing.build import BuildResult
from gantune.optimizing.decide import decide, word_verdict
from gantune.optimizing.facts import summarize_network
from gantune.optimizing.trial import Images, QualityResult
from gantune.optimizing.verify import Verification
from gantune.profiling.layers import name_bottleneck
from gantune.quality.frequency_bands import band_losses
from gantune.quality.gate import Budget, find_image_violations
from gantune.quality.spectrum import spectrum_curve
from gantune.records.candidate import Baseline, Candidate, Interval, Measurement
from gantune.records.fallback import FormFallback
from gantune.records.measurement import Comparison, SubjectResult
from gantune.records.plan import Plan, PlannedCandidate
from gantune.records.report import Report, SpectrumCurve
from gantune.records.score import BandLoss
from gantune.records.search import Search
from gantune.reporting import fill_checklist

MAX_LAYERS = 24


@dataclass(frozen=True)
class Evidence:
    """Everything a run found; `images` are the best candidate's, None where nothing was kept."""

    checkpoint: Checkpoint
    path: Path
    plan: Plan
    comparison: Comparison
    candidates: tuple[Candidate, ...]
    best: Candidate | None
    expected: Images
    images: Images | None
    verification: Verification
    command: str
    search: Search
    fallbacks: tuple[FormFallback, ...] = ()


@dataclass(frozen=True)
class Timing:
    """One subject's result, its speedups over the baselines, and why it was stopped early, if it was."""

    result: SubjectResult
    speedups: Mapping[str, Interval]
    stopped: str = ""


def judge_candidates(
    plan: Plan,
    builds: Mapping[str, BuildResult],
    qualities: Mapping[str, QualityResult],
    timings: Mapping[str, Timing],
    tuned: Timing,
) -> tuple[Candidate, ...]:
    """Decide on every candidate that was tried; each carries its reason."""
    return tuple(
        _judge(
            planned, plan, builds[planned.name], qualities.get(planned.name), timings.get(planned.name), tuned
        )
        for planned in plan.candidates
        if planned.name in builds
    )


def _judge(
    planned: PlannedCandidate,
    plan: Plan,
    build: BuildResult,
    trial: QualityResult | None,
    timing: Timing | None,
    tuned: Timing,
) -> Candidate:
    candidate = Candidate(
        name=planned.name,
        engine=planned.engine,
        plan=planned.steps,
        why=planned.why,
        size_bytes=build.size_bytes or None,
        status="failed",
        reason=build.reason,
    )
    if trial is None or trial.quality is None:
        return candidate.model_copy(update={"reason": build.reason or (trial.reason if trial else "")})
    candidate = candidate.model_copy(update={"quality": trial.quality})
    if timing is None:
        return _reject_untimed(candidate, plan)
    measured = timing.result.measured
    if measured is None or "tuned" not in timing.speedups:
        reason = timing.result.reason or "the original could not be measured beside it"
        return candidate.model_copy(update={"reason": reason})
    status, reason = decide(
        speedup_tuned=timing.speedups["tuned"],
        quality=trial.quality,
        measured=measured,
        size_bytes=build.size_bytes,
        budget=replace(read_budget(plan), max_frechet_loss=None),
        image_error=plan.image_error,
        must_be_exact=plan.precision == "fp32",
        saving=_saving(plan, build, measured, tuned),
    )
    if timing.stopped and status == "kept":
        reason = f"{reason}; {timing.stopped}"
    if build.note:
        reason = f"{reason}; {build.note}"
    return candidate.model_copy(
        update={
            "status": status,
            "reason": reason,
            "quality": trial.quality,
            "measured": measured,
            "latency_ms": measured.latency_ms,
            "throughput_images_s": measured.throughput_images_s,
            "peak_bytes": measured.peak_bytes,
            "speedup_as_is": timing.speedups.get("as_is"),
            "speedup_tuned": timing.speedups["tuned"],
            "precision_used": timing.result.precision_used,
        }
    )


def _reject_untimed(candidate: Candidate, plan: Plan) -> Candidate:
    assert candidate.quality is not None
    violations = find_image_violations(read_budget(plan), candidate.quality, image_error=plan.image_error)
    reason = "; ".join(violations) or "not timed"
    return candidate.model_copy(update={"status": "rejected" if violations else "failed", "reason": reason})


def _saving(plan: Plan, build: BuildResult, measured: Measurement, tuned: Timing) -> float | None:
    """Give how many times the original has of what the goal makes small; None where the goal is speed."""
    if plan.goal == "size":
        return plan.float32_bytes / max(build.size_bytes, 1)
    if plan.goal == "memory" and tuned.result.measured is not None:
        return tuned.result.measured.peak_bytes / measured.peak_bytes
    return None


def read_budget(plan: Plan) -> Budget:
    """Turn a plan's bounds back into a budget; a bound the plan does not name is none.

    Raises `UsageError` for a bound that a budget does not have.
    """
    known = [field.name for field in fields(Budget)]
    for name in plan.budget:
        if name not in known:
            raise UsageError(f"The plan's budget bounds {name!r}; a budget has: {', '.join(known)}.")
    bounds = {"min_psnr_db": None} | plan.budget
    return Budget(**bounds)  # type: ignore[arg-type]


def assemble_report(evidence: Evidence) -> Report:
    """Write the report record, its checklist filled in from the rest."""
    network = evidence.checkpoint.generator
    assert isinstance(network, Network)
    best = _with_throughput(evidence.best, evidence.verification)
    report = Report(
        gantune_version=version("gantune"),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=evidence.command,
        machine=describe_machine(),
        network=summarize_network(evidence.checkpoint, evidence.path, evidence.plan),
        plan=evidence.plan,
        image_error=evidence.plan.image_error,
        layers=evidence.verification.layers[:MAX_LAYERS],
        bottleneck=name_bottleneck(evidence.verification.layers),
        baselines={name: _baseline(name, evidence) for name in ("as_is", "tuned")},
        candidates=tuple(
            best if best is not None and candidate.name == best.name else candidate
            for candidate in evidence.candidates
        ),
        best=best,
        verdict=word_verdict(best),
        spectra=_spectra(evidence, value_range=network.output.value_range),
        extremes=evidence.verification.extremes,
        first_divergence=evidence.verification.first_divergence,
        search=evidence.search,
        bands=_bands(evidence, value_range=network.output.value_range),
        energy=evidence.verification.energy,
        fallbacks=evidence.fallbacks,
    )
    return report.model_copy(update={"checklist": fill_checklist(report)})


def _with_throughput(best: Candidate | None, verification: Verification) -> Candidate | None:
    if best is None or best.measured is None:
        return best
    measured = best.measured.model_copy(update={"throughput": verification.throughput.get(best.name, ())})
    return best.model_copy(update={"measured": measured})


def _baseline(name: str, evidence: Evidence) -> Baseline:
    result = evidence.comparison.result(name)
    measured = _measured(result)
    descriptions = {
        "as_is": "the original network, run eagerly by torch with the authors' reference operations",
        "tuned": "the same, with an allocator that keeps large tensors in memory",
    }
    if name == "tuned":
        throughput = evidence.verification.throughput.get("tuned", ())
        measured = measured.model_copy(update={"throughput": throughput})
    return Baseline(
        name=name,  # type: ignore[arg-type]
        description=descriptions[name],
        environment=dict(TUNED_ALLOCATOR) if name == "tuned" else {},
        measured=measured,
        size_bytes=summarize_network(evidence.checkpoint, evidence.path, evidence.plan).float32_bytes,
    )


def _measured(result: SubjectResult) -> Measurement:
    if result.measured is None:
        raise ScriptError(f"The original network could not be run: {result.reason}.")
    return result.measured


def _bands(evidence: Evidence, *, value_range: float) -> tuple[BandLoss, ...]:
    if evidence.images is None or evidence.images.ndim != 4:
        return ()
    return band_losses(evidence.images, evidence.expected, value_range=value_range)


def _spectra(evidence: Evidence, *, value_range: float) -> tuple[SpectrumCurve, ...]:
    named: Sequence[tuple[str, Images | None]] = (
        ("original", evidence.expected),
        (evidence.best.name if evidence.best else "", evidence.images),
    )
    return tuple(
        spectrum_curve(name, images, value_range=value_range) for name, images in named if images is not None
    )
