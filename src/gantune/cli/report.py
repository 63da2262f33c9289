"""`gantune report`: what a run found, or several runs side by side."""

from pathlib import Path
from typing import Annotated

import typer

from gantune.cli.console import print_json, print_rows
from gantune.cli.options import JsonOption, OverwriteOption, check_names


def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs.", callback=check_names)
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Also write the comparison as a page.")
    ] = None,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Print what one run found, or compare several; --out writes a page."""
    from gantune.errors import StorageError
    from gantune.reporting.runs import HEADER, find_cautions, list_rows, read_reports, write_runs_page
    from gantune.reporting.text import report_text

    found = read_reports(runs)
    if out is not None:
        if out.exists() and not overwrite:
            raise StorageError(f"{out} is already there. Name another --out file, or add --overwrite.")
        write_runs_page(found, out)
    rows = list_rows(found)
    if json:
        cautions = find_cautions(found)
        print_json({"runs": [dict(zip(HEADER, row, strict=True)) for row in rows], "cautions": cautions})
    elif len(found) == 1:
        print(report_text(found[0].report))
    else:
        print_rows(HEADER, rows)
        for caution in find_cautions(found):
            print(f"\n{caution}")
