"""The checklist prepare · optimize · verify, filled in from what a run recorded."""

from gantune.records.report import CheckItem, Report
from gantune.reporting.figures import write_value


def fill_checklist(report: Report) -> tuple[CheckItem, ...]:
    """Answer every line of the checklist from the report alone; a line nobody worked on is not done."""
    return (*_prepare(report), *_optimize(report), *_verify(report))


def _prepare(report: Report) -> list[CheckItem]:
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
        ),
        CheckItem(
            phase="prepare",
            text="Measure both baselines",
            is_done=len(report.baselines) == 2,
            detail=", ".join(baselines),
        ),
        CheckItem(
            phase="prepare",
            text="Name the bottleneck before changing anything",
            is_done=bool(report.layers),
            detail=report.bottleneck,
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
        ),
        CheckItem(
            phase="optimize",
            text="Time each candidate in its own process, in interleaved rounds",
            is_done=bool(measured),
            detail=f"{len(measured)} of {len(report.candidates)} measured, {report.plan.rounds} rounds each",
        ),
        CheckItem(
            phase="optimize",
            text="Keep only what is faster here and inside the budget",
            is_done=bool(kept),
            detail=f"{len(kept)} kept" if kept else "none kept: the original stays",
        ),
    ]


def _verify(report: Report) -> list[CheckItem]:
    quality = report.best.quality if report.best is not None else None
    finite = [extreme for extreme in report.extremes if extreme.is_finite]
    return [
        CheckItem(
            phase="verify",
            text="Compare pictures on inputs the search has not seen",
            is_done=quality is not None,
            detail=_describe_quality(report),
        ),
        CheckItem(
            phase="verify",
            text="Try extreme inputs",
            is_done=bool(report.extremes) and len(finite) == len(report.extremes),
            detail=f"{len(finite)} of {len(report.extremes)} finite" if report.extremes else "not tried",
        ),
        CheckItem(
            phase="verify",
            text="Compare power spectra",
            is_done=len(report.spectra) > 1,
            detail="not compared" if quality is None else f"largest change {quality.spectrum_db:.2f} dB",
        ),
    ]


def _describe_quality(report: Report) -> str:
    quality = report.best.quality if report.best is not None else None
    if quality is None:
        return "nothing to compare"
    if quality.identical:
        return "identical"
    error_db = quality.psnr_db if report.image_error == "range" else quality.snr_db
    return f"{write_value(error_db, 'db')}, SSIM {quality.ssim:.4f}"
