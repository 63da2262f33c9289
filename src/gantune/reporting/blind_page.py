"""A blind test as one page: original against optimized, sides drawn at random, answers with an interval."""

import json
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from gantune.errors import StorageError
from gantune.records.report import Report
from gantune.reporting.page import page_templates, read_asset
from gantune.reporting.pictures import Sample, compare

QUESTION = "Which picture is the original?"


def render_blind_page(report: Report, samples: Sequence[Sample]) -> str:
    """Render the page; which side is which is drawn in the browser, and nothing on the page tells before."""
    pairs = [
        {"title": shown.title, "original": shown.before, "optimized": shown.after}
        for shown in map(compare, samples)
    ]
    # Closing tags inside the data must not end the script element.
    data = json.dumps(pairs).replace("<", "\\u003c")
    return (
        page_templates()
        .get_template("blind.html.j2")
        .render(
            report=report,
            question=QUESTION,
            styles=Markup(read_asset("report.css") + read_asset("blind.css")),
            script=Markup(read_asset("blind.js")),
            data=Markup(data),
            num_pairs=len(pairs),
        )
    )


def write_blind_page(report: Report, samples: Sequence[Sample], path: Path) -> None:
    """Write the page; raise `StorageError` where the file cannot be written."""
    try:
        path.write_text(render_blind_page(report, samples), encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"The blind test {path} could not be written: {error.strerror}. Give another --out folder."
        ) from error
