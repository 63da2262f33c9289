"""The checklist prepare · optimize · verify, filled in from what a run recorded."""

from gantune.records.report import CheckItem, Report
from gantune.reporting.figures import write_value


def fill_checklist(report: Report) -> tuple[CheckItem, ...]:
    """Answer every line of the checklist from the report alone; a line nobody worked on is not done."""
    return (*_prepare(report), *_optimize(report), *_verify(report))


def _prepare(report: Report) -> list[CheckItem]:
    return [*_prepare_measuring(report), *_prepare_deciding(report)]


def _prepare_deciding(report: Report) -> list[CheckItem]:
    bounds = ", ".join(f"{name.replace('_', ' ')} {bound:g}" for name, bound in report.plan.budget.items())
    path = " → ".join(decision.answer for decision in report.plan.decisions)
    return [
        CheckItem(
            phase="prepare",
            text="State what may be lost before looking at results",
            is_done=bool(bounds),
            detail=bounds or "no bound was given",
            section="tradeoff",
        ),
        CheckItem(
            phase="prepare",
            text="Choose the branch by rule",
            is_done=bool(report.plan.branch),
            detail=f"{path} → {report.plan.branch}" if path else "the plan names no branch",
            section="plan",
        ),
    ]


def _prepare_measuring(report: Report) -> list[CheckItem]:
    network = report.network
    baselines = [
        f"{name.replace('_', ' ')} {write_value(baseline.measured.latency_ms.p50, 'ms')}"
        for name, baseline in report.baselines.items()
    ]
    return [
        CheckItem(
            phase="prepare",
            text="Read the checkpoint without running its code",
            is_done=True,
            detail=f"{network.format}, {network.family}, sha256 {network.source_sha256[:12]}",
            section="machine",
        ),
        CheckItem(
            phase="prepare",
            text="Measure both baselines",
            is_done=len(report.baselines) == 2,
            detail=", ".join(baselines),
            section="candidates",
        ),
        CheckItem(
            phase="prepare",
            text="Name the bottleneck before changing anything",
            is_done=bool(report.layers),
            detail=report.bottleneck,
            section="layers",
        ),
    ]


def _optimize(report: Report) -> list[CheckItem]:
    measured = [candidate for candidate in report.candidates if candidate.latency_ms is not None]
    kept = [candidate for candidate in report.candidates if candidate.status == "kept"]
    skipped = [candidate for candidate in report.plan.candidates if candidate.is_skipped]
    return [
        CheckItem(
            phase="optimize",
            text="Give every candidate a reason to be tried, or not",
            is_done=all(candidate.why for candidate in report.plan.candidates),
            detail=f"{len(report.plan.candidates)} considered, {len(skipped)} skipped by rule",
            section="plan",
        ),
        CheckItem(
            phase="optimize",
            text="Time each candidate in its own process, in interleaved rounds",
            is_done=bool(measured),
            detail=f"{len(measured)} of {len(report.candidates)} measured, {report.plan.rounds} rounds each",
            section="candidates",
        ),
        CheckItem(
            phase="optimize",
            text="Keep only what is faster here and inside the budget",
            is_done=bool(kept),
            detail=f"{len(kept)} kept" if kept else "none kept: the original stays",
            section="candidates",
        ),
        CheckItem(
            phase="optimize",
            text="Change the leader one step at a time, and profile again",
            is_done=report.search is not None and bool(report.search.changes),
            detail=_describe_search(report),
            section="search",
        ),
    ]


def _describe_search(report: Report) -> str:
    if report.search is None:
        return "not tried"
    kept = sum(change.is_kept for change in report.search.changes)
    return f"{kept} of {len(report.search.changes)} changes kept; {report.search.end}"


def _verify(report: Report) -> list[CheckItem]:
    quality = report.best.quality if report.best is not None else None
    finite = [extreme for extreme in report.extremes if extreme.is_finite]
    return [
        CheckItem(
            phase="verify",
            text="Compare pictures on inputs the search has not seen",
            is_done=quality is not None,
            detail=_describe_quality(report),
            section="quality",
        ),
        CheckItem(
            phase="verify",
            text="Try extreme inputs",
            is_done=bool(report.extremes) and len(finite) == len(report.extremes),
            detail=f"{len(finite)} of {len(report.extremes)} finite" if report.extremes else "not tried",
            section="checks",
        ),
        CheckItem(
            phase="verify",
            text="Compare power spectra",
            is_done=len(report.spectra) > 1,
            detail="not compared" if quality is None else f"largest change {quality.spectrum_db:.2f} dB",
            section="spectrum",
        ),
        CheckItem(
            phase="verify",
            text="Find the first layer that differs",
            is_done=report.best is not None,
            detail=report.first_divergence or ("no layer differs" if report.best else "nothing to compare"),
            section="checks",
        ),
        CheckItem(
            phase="verify",
            text="Compare with real pictures",
            is_done=quality is not None and quality.frechet is not None,
            detail=_describe_distance(report),
            section="quality",
        ),
    ]


def _describe_distance(report: Report) -> str:
    quality = report.best.quality if report.best is not None else None
    if quality is None or quality.frechet is None:
        return "no real pictures were named (--data)"
    return f"Fréchet distance {quality.frechet:.3g} over {report.plan.num_images:,} images"


def _describe_quality(report: Report) -> str:
    quality = report.best.quality if report.best is not None else None
    if quality is None:
        return "nothing to compare"
    if quality.identical:
        return "identical"
    error_db = quality.psnr_db if report.image_error == "range" else quality.snr_db
    return f"{write_value(error_db, 'db')}, SSIM {quality.ssim:.4f}"
