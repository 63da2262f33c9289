"""What commands print: one JSON document or plain text on stdout, progress on stderr on a terminal only."""

import json
import sys
from collections.abc import Mapping, Sequence


def print_json(document: Mapping[str, object]) -> None:
    """Print one JSON document; NaN and infinity are an error, since JSON has neither."""
    print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False, default=str))


def print_facts(facts: Mapping[str, object]) -> None:
    """Print names and values in two columns."""
    width = max((len(name) for name in facts), default=0)
    for name, value in facts.items():
        print(f"{name:<{width}}  {_as_text(value)}")


def print_rows(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table with columns as wide as their longest cell."""
    cells = [[str(cell) for cell in header], *([_as_text(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def report_progress(text: str) -> None:
    """Say on stderr what is being done, if a person is watching."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr)


def _as_text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return str(value)
