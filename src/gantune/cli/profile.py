"""`gantune profile`: what is slow, and what mending it would gain."""

import json as json_text
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from gantune.cli.console import report_progress
from gantune.cli.options import JsonOption, OverwriteOption
from gantune.errors import UsageError


def profile(
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FILE", help="A trace of PyTorch, TensorFlow or another profiler."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write profile.html, profile.json and trace.")
    ] = None,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Say what takes the time, why, and what mending it would gain."""
    from gantune.profiling.run import profile_trace
    from gantune.reporting.profile_text import profile_text

    if trace is None:
        raise UsageError("There is nothing to profile. Name a trace with --trace FILE.")
    report_progress(f"reading {trace}")
    found = profile_trace(trace, command=shlex.join(["gantune", *sys.argv[1:]]), out=out, overwrite=overwrite)
    print(
        json_text.dumps(json_text.loads(found.model_dump_json()), indent=2) if json else profile_text(found)
    )
