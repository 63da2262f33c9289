"""`gantune profile`: what is slow, and what mending it would gain."""

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
    diff: Annotated[
        tuple[Path, Path] | None,
        typer.Option("--diff", metavar="A B", help="Compare two profiles: folders or profile.json files."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Write profile.html, profile.json, a Chrome trace and scalars."
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Say what takes the time, why, and what mending it would gain."""
    if (trace is None) == (diff is None):
        raise UsageError("Say what to profile: --trace FILE, or --diff A B for two profiles, one of them.")
    if diff is not None:
        _compare(*diff, json=json)
        return
    assert trace is not None
    from gantune.profiling.run import profile_trace
    from gantune.reporting.profile_text import profile_text

    report_progress(f"reading {trace}")
    found = profile_trace(trace, command=shlex.join(["gantune", *sys.argv[1:]]), out=out, overwrite=overwrite)
    print(found.model_dump_json(indent=2) if json else profile_text(found))


def _compare(before: Path, after: Path, *, json: bool) -> None:
    from gantune.profiling.comparison import compare_profiles, read_profile
    from gantune.reporting.comparison_text import comparison_text

    found = compare_profiles(read_profile(before), read_profile(after))
    print(found.model_dump_json(indent=2) if json else comparison_text(found))
