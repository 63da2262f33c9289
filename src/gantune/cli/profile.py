"""`gantune profile`: what is slow, and what mending it would gain."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from gantune.cli.console import report_progress
from gantune.cli.options import ImageSizeOption, JsonOption, OverwriteOption, SeedOption, ThreadsOption
from gantune.errors import UsageError


def profile(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A checkpoint.")] = None,
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
    batch: Annotated[int, typer.Option(min=1, help="Batch size of a checkpoint's calls.")] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="Interleaved rounds in which remedies are timed.")] = 9,
    try_remedies: Annotated[
        bool, typer.Option("--try/--look-only", help="Try remedies in fresh processes, or only look.")
    ] = True,
    threads: ThreadsOption = None,
    image_size: ImageSizeOption = 64,
    seed: SeedOption = 0,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Say what takes the time of a network or a trace, why, and what mending it would gain."""
    given = [
        name for name, value in (("FILE", file), ("--trace", trace), ("--diff", diff)) if value is not None
    ]
    if len(given) != 1:
        raise UsageError(
            f"Found {' and '.join(given) or 'nothing to profile'}. Name one of: a checkpoint FILE, "
            "--trace FILE, or --diff A B for two profiles."
        )
    if diff is not None:
        _compare(*diff, json=json)
        return
    from gantune.profiling.run import profile_checkpoint, profile_trace
    from gantune.reporting.profile_text import profile_text

    command = shlex.join(["gantune", *sys.argv[1:]])
    if trace is not None:
        report_progress(f"reading {trace}")
        found = profile_trace(trace, command=command, out=out, overwrite=overwrite)
    else:
        assert file is not None
        from gantune.profiling.network_profile import NetworkProfileOptions

        report_progress(f"profiling {file}")
        options = NetworkProfileOptions(
            threads=threads,
            batch_size=batch,
            image_size=image_size,
            seed=seed,
            num_rounds=rounds,
            is_tried=try_remedies,
        )
        found = profile_checkpoint(file, options, command=command, out=out, overwrite=overwrite)
    print(found.model_dump_json(indent=2) if json else profile_text(found))


def _compare(before: Path, after: Path, *, json: bool) -> None:
    from gantune.profiling.comparison import compare_profiles, read_profile
    from gantune.reporting.comparison_text import comparison_text

    found = compare_profiles(read_profile(before), read_profile(after))
    print(found.model_dump_json(indent=2) if json else comparison_text(found))
