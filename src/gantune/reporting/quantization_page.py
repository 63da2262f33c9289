"""The quantization pages: a run's verdict and layers, and every layer's sensitivity as picture and table."""

import functools
import json
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from gantune.errors import StorageError
from gantune.records.quantization import (
    FinetuneRecord,
    LayerSensitivity,
    QuantizationReport,
    SensitivityTable,
)
from gantune.reporting.figures import Json, write_figure
from gantune.reporting.finetuning_chart import draw_image_error, draw_losses
from gantune.reporting.page import flatten_facts, page_templates, read_asset
from gantune.reporting.pictures import Sample, compare
from gantune.reporting.sensitivity_chart import draw_sensitivity


def render_quantization(report: QuantizationReport, samples: Sequence[Sample]) -> str:
    """Render a run as one HTML document; every number on it is read from the report's JSON."""
    document: Json = json.loads(report.model_dump_json())
    return (
        page_templates()
        .get_template("quantization.html.j2")
        .render(
            report=report,
            figure=functools.partial(write_figure, document),
            styles=Markup(read_asset("report.css") + read_asset("profile.css")),
            script=Markup(read_asset("report.js")),
            error_name="psnr_db" if report.image_error == "range" else "snr_db",
            comparisons=[compare(sample) for sample in samples],
            curves=_draw_curves(report.finetuning),
            machine=flatten_facts(report.machine.model_dump(exclude_none=True)),
        )
    )


def _draw_curves(record: FinetuneRecord | None) -> list[Markup]:
    if record is None:
        return []
    return [
        draw(record, is_narrow=narrow) for draw in (draw_image_error, draw_losses) for narrow in (False, True)
    ]


def render_sensitivity(table: SensitivityTable) -> str:
    """Render the sensitivities as one HTML document: a picture, and the table with the worst first."""
    document: Json = json.loads(table.model_dump_json())
    rows = sorted(enumerate(table.rows), key=lambda item: _error_db(item[1]))
    return (
        page_templates()
        .get_template("sensitivity.html.j2")
        .render(
            table=table,
            rows=rows,
            figure=functools.partial(write_figure, document),
            styles=Markup(read_asset("report.css") + read_asset("profile.css")),
            charts=[draw_sensitivity(table, is_narrow=narrow) for narrow in (False, True)],
        )
    )


def write_quantization_page(report: QuantizationReport, samples: Sequence[Sample], path: Path) -> None:
    """Write a run's page; raise `StorageError` where the file cannot be written."""
    _write(render_quantization(report, samples), path)


def write_sensitivity_page(table: SensitivityTable, path: Path) -> None:
    """Write the page of the sensitivities; raise `StorageError` where the file cannot be written."""
    _write(render_sensitivity(table), path)


def _write(page: str, path: Path) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"The report page {path} could not be written: {error.strerror}. Give another --out folder."
        ) from error


def _error_db(row: LayerSensitivity) -> float:
    return float("inf") if row.psnr_db is None else row.psnr_db
