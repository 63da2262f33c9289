"""The plan and the report as a few plain lines for a terminal."""

from gantune.records.candidate import Candidate, Interval
from gantune.records.plan import Plan
from gantune.records.report import Report
from gantune.reporting.fallback_text import fallback_text
from gantune.reporting.figures import ABSENT, write_value


def plan_text(plan: Plan) -> str:
    """Write what would be tried and why, one line a candidate, and what would not."""
    bounds = ", ".join(f"{name.replace('_', ' ')} {bound:g}" for name, bound in plan.budget.items())
    lines = [
        f"{plan.source}: {plan.family} for {plan.target}, goal {plan.goal}, budget {bounds or 'none'}",
        f"batch {plan.batch}, {plan.threads} threads, {plan.rounds} rounds, seed {plan.seed}",
        "",
    ]
    width = max((len(candidate.name) for candidate in plan.candidates), default=0)
    for candidate in plan.candidates:
        sign = "skip" if candidate.is_skipped else "try "
        lines.append(f"{sign}  {candidate.name.ljust(width)}  {candidate.why}")
    return "\n".join(lines)


def report_text(report: Report) -> str:
    """Write the verdict, what was gained, and one line a candidate; no color, no control characters."""
    network = report.network
    lines = [
        f"{network.source}: {network.family}, {write_value(network.num_parameters, 'amount')} parameters, "
        f"{write_value(network.macs, 'amount')} MACs",
        f"bottleneck: {report.bottleneck}",
        "",
        *_tabulate(report),
        *_list_skipped(report.plan),
        "",
        *([] if report.best is None else _gains(report, report.best)),
        *(f"slower form: {fallback_text(fallback)}" for fallback in report.fallbacks),
        report.verdict,
    ]
    return "\n".join(lines)


def quality_text(candidate: Candidate, image_error: str) -> str:
    """Write a candidate's image quality: decibels, `identical`, or a dash where it is unknown."""
    if candidate.quality is None:
        return ABSENT
    if candidate.quality.identical:
        return "identical"
    quality = candidate.quality
    return write_value(quality.psnr_db if image_error == "range" else quality.snr_db, "db")


def _gains(report: Report, best: Candidate) -> list[str]:
    lines = [f"best: {best.name}"]
    pairs = (("as users have it", best.speedup_as_is), ("with the tuned allocator", best.speedup_tuned))
    lines += [f"  {_interval(speedup)} against the original {name}" for name, speedup in pairs if speedup]
    return [*lines, f"  image quality {quality_text(best, report.image_error)}", ""]


def _interval(speedup: Interval | None) -> str:
    if speedup is None:
        return ABSENT
    return f"{speedup.median:.2f}× ({speedup.low:.2f}–{speedup.high:.2f})"


def _list_skipped(plan: Plan) -> list[str]:
    """Name what was not tried, one line for each reason."""
    groups: dict[str, list[str]] = {}
    for candidate in plan.candidates:
        if candidate.is_skipped:
            groups.setdefault(candidate.why.removeprefix("skipped: "), []).append(candidate.name)
    return [f"not tried  {', '.join(names)}: {why}" for why, names in groups.items()]


def _tabulate(report: Report) -> list[str]:
    header = ("", "candidate", "latency", "against tuned", "quality", "why")
    rows = [header]
    for name, baseline in report.baselines.items():
        rows.append(
            (
                "original",
                name.replace("_", " "),
                write_value(baseline.measured.latency_ms.p50, "ms"),
                "",
                "",
                "",
            )
        )
    changes = {} if report.search is None else {one.candidate: one for one in report.search.changes}
    for candidate in report.candidates:
        change = changes.get(candidate.name)
        if change is not None and (report.best is None or candidate.name != report.best.name):
            # It was timed beside the leader of then, in rounds of their own: the rows above are no measure.
            quality = quality_text(candidate, report.image_error)
            sign = "kept" if change.is_kept else "undone"
            reason = change.reason.removeprefix(f"{sign}: ")
            rows.append((sign, candidate.name, ABSENT, ABSENT, quality, reason))
            continue
        latency = ABSENT if candidate.latency_ms is None else write_value(candidate.latency_ms.p50, "ms")
        speedup, quality = _interval(candidate.speedup_tuned), quality_text(candidate, report.image_error)
        rows.append((candidate.status, candidate.name, latency, speedup, quality, candidate.reason))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[5]]).rstrip()
        for row in rows
    ]
