"""Several runs side by side: what each gained, at what quality, on which machine, as text and as a page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from pydantic import ValidationError

from gantune.errors import CheckpointError, StorageError
from gantune.records.report import Report
from gantune.reporting.figures import ABSENT, write_value
from gantune.reporting.page import page_templates, read_asset
from gantune.reporting.text import quality_text

HEADER = (
    "run", "network", "best", "latency", "against as is", "against tuned", "quality", "peak", "size",
    "machine",
)  # fmt: skip


@dataclass(frozen=True)
class NamedReport:
    """A run's report, under the name that tells it from the others."""

    name: str
    report: Report


def read_reports(folders: Sequence[Path]) -> list[NamedReport]:
    """Read each folder's `report.json`; names are the folders', numbered where they meet.

    Raises `CheckpointError` for a folder without a report of this version.
    """
    found: list[NamedReport] = []
    for folder in folders:
        taken = sum(one.name.split("#")[0] == folder.name for one in found)
        found.append(NamedReport(f"{folder.name}#{taken + 1}" if taken else folder.name, _read(folder)))
    return found


def _read(folder: Path) -> Report:
    path = folder / "report.json"
    try:
        return Report.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise CheckpointError(f"There is no report at {path}. Name the folder of a finished run.") from None
    except (ValidationError, ValueError) as error:
        raise CheckpointError(
            f"{path} is no report of this version ({str(error).splitlines()[0]})."
        ) from None


def list_rows(runs: Sequence[NamedReport]) -> list[tuple[str, ...]]:
    """Give one row of text a run, in the order of `HEADER`."""
    return [_row(run.name, run.report) for run in runs]


def _row(name: str, report: Report) -> tuple[str, ...]:
    machine = f"{report.machine.processor}, {report.plan.threads} threads, batch {report.plan.batch}"
    best = report.best
    if best is None:
        return (name, report.network.source, "the original", *[ABSENT] * 6, machine)
    speedups = (best.speedup_as_is, best.speedup_tuned)
    told = [
        ABSENT if one is None else f"{one.median:.2f}× ({one.low:.2f}–{one.high:.2f})" for one in speedups
    ]
    latency = None if best.latency_ms is None else best.latency_ms.p50
    return (
        name,
        report.network.source,
        best.name,
        write_value(latency, "ms"),
        *told,
        quality_text(best, report.image_error),
        write_value(best.peak_bytes, "bytes"),
        write_value(best.size_bytes, "bytes"),
        machine,
    )


def find_cautions(runs: Sequence[NamedReport]) -> list[str]:
    """Say what keeps the runs' figures from being compared: other networks, machines, batches, errors."""
    facts: dict[str, set[str | int]] = {
        "networks": {run.report.network.source_sha256 for run in runs},
        "processors": {run.report.machine.processor for run in runs},
        "numbers of threads": {run.report.plan.threads for run in runs},
        "batch sizes": {run.report.plan.batch for run in runs},
        "image sizes": {run.report.plan.image_size for run in runs},
        "image errors (PSNR and SNR)": {run.report.image_error for run in runs},
        "versions of torch": {run.report.machine.libraries.get("torch", "") for run in runs},
    }
    return [
        f"The runs differ in their {name}: times and decibels are not to be compared."
        for name, values in facts.items()
        if len(values) > 1
    ]


def write_runs_page(runs: Sequence[NamedReport], path: Path) -> None:
    """Write the comparison as one self-contained page; raise `StorageError` where it cannot be written."""
    page = (
        page_templates()
        .get_template("runs.html.j2")
        .render(
            runs=runs,
            header=HEADER,
            rows=list_rows(runs),
            cautions=find_cautions(runs),
            styles=Markup(read_asset("report.css")),
        )
    )
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"{path} could not be written: {error.strerror}. Give another --out file."
        ) from error
