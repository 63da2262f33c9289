"""The report page: one HTML file with its styles, pictures and plots inside, and no request to anyone."""

import functools
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

import jinja2
from markupsafe import Markup

from gantune.errors import StorageError
from gantune.records.candidate import Candidate
from gantune.records.plan import Step
from gantune.records.report import Report
from gantune.reporting.fallback_text import fallback_text
from gantune.reporting.figures import Json, write_figure
from gantune.reporting.pictures import Sample, compare
from gantune.reporting.spectra import draw_spectra
from gantune.reporting.tradeoff import draw_tradeoff, list_points

NUM_LAYERS = 12


def render_page(report: Report, samples: Sequence[Sample]) -> str:
    """Render the whole report as one HTML document; every number on it is read from the report's JSON."""
    document: Json = json.loads(report.model_dump_json())
    numbers = number_candidates(report)
    points = list_points(report, numbers)
    budget_db = report.plan.budget.get("min_psnr_db")
    templates = page_templates()
    return templates.get_template("report.html.j2").render(
        report=report,
        figure=functools.partial(write_figure, document),
        styles=Markup(read_asset("report.css")),
        script=Markup(read_asset("report.js")),
        numbers=numbers,
        candidates=sorted(enumerate(report.candidates), key=lambda item: numbers[item[1].name]),
        best_index=_best_index(report),
        range_name="psnr_range" if report.image_error == "range" else "snr_range",
        error_name="psnr_db" if report.image_error == "range" else "snr_db",
        comparisons=[compare(sample) for sample in samples],
        tradeoffs=[
            draw_tradeoff(
                points,
                budget_db=budget_db,
                budget_ms=report.plan.budget.get("max_latency_ms"),
                is_narrow=narrow,
            )
            for narrow in (False, True)
        ],
        spectra=[draw_spectra(report.spectra, is_narrow=narrow) for narrow in (False, True)]
        if report.spectra
        else [],
        layers=sorted(enumerate(report.layers), key=lambda item: -item[1].time_ms)[:NUM_LAYERS],
        sections=_list_sections(report),
        machine=flatten_facts(report.machine.model_dump(exclude_none=True)),
    )


def write_page(report: Report, samples: Sequence[Sample], path: Path) -> None:
    """Write the page; raise `StorageError` where the file cannot be written."""
    page = render_page(report, samples)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"The report page {path} could not be written: {error.strerror}. Give another --out folder."
        ) from error


def number_candidates(report: Report) -> dict[str, int]:
    """Rank the candidates from 1: kept, then rejected, then failed, each from fast to slow."""
    order = {"kept": 0, "rejected": 1, "failed": 2}

    def rank(candidate: Candidate) -> tuple[int, float]:
        latency_ms = float("inf") if candidate.latency_ms is None else candidate.latency_ms.p50
        return order[candidate.status], latency_ms

    return {
        candidate.name: index for index, candidate in enumerate(sorted(report.candidates, key=rank), start=1)
    }


def flatten_facts(facts: Mapping[str, object], *, prefix: str = "") -> list[tuple[str, str]]:
    """List nested facts as (label, text) in reading order."""
    rows: list[tuple[str, str]] = []
    for key, value in facts.items():
        label = f"{prefix}{key.replace('_', ' ')}"
        if isinstance(value, Mapping):
            rows.extend(flatten_facts(value, prefix=f"{label} · "))
        elif isinstance(value, list | tuple):
            rows.append((label, ", ".join(map(str, value)) or "none"))
        elif key.endswith("_bytes") and isinstance(value, int):
            rows.append((label.removesuffix(" bytes"), f"{value / 2**30:.1f} GiB"))
        else:
            rows.append((label, _say(value)))
    return rows


def _say(value: object) -> str:
    if value is None or value == "":
        return "unknown"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _describe_step(step: Step) -> str:
    options = ", ".join(_describe_option(name, value) for name, value in step.options.items())
    return (f"{step.name} ({options})" if options else step.name).replace("_", " ")


def _describe_option(name: str, value: str | float | bool) -> str:
    if isinstance(value, bool):
        return name if value else f"not {name}"
    return f"{name} {value}"


def _say_moment(created: str) -> str:
    return datetime.fromisoformat(created).astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def _end_sentence(text: str) -> str:
    return text and f"{text[0].upper()}{text[1:]}."


def _list_sections(report: Report) -> set[str]:
    """Name the parts of the page that are there, so that no link leads nowhere."""
    found = {"tradeoff", "candidates", "plan", "checks", "machine"}
    found |= {"layers"} if report.layers else set()
    found |= {"spectrum"} if report.spectra else set()
    found |= {"search"} if report.search else set()
    found |= {"quality"} if any(candidate.quality for candidate in report.candidates) else set()
    return found


def _best_index(report: Report) -> int | None:
    names = [candidate.name for candidate in report.candidates]
    return None if report.best is None else names.index(report.best.name)


def read_asset(name: str) -> str:
    """Read a style sheet or script that lies beside the templates."""
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


@functools.cache
def page_templates() -> jinja2.Environment:
    """Give the templates of all pages, with the filters they use."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["moment"] = _say_moment
    environment.filters["step"] = _describe_step
    environment.filters["say"] = _say
    environment.filters["sentence"] = _end_sentence
    environment.filters["fallback"] = fallback_text
    return environment
