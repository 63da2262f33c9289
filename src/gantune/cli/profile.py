"""`gantune profile`: what is slow, and what mending it would gain."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from gantune.cli.console import report_progress
from gantune.cli.options import (
    ImageSizeOption,
    JsonOption,
    OverwriteOption,
    SeedOption,
    ThreadsOption,
    check_names,
)
from gantune.cli.script_command import given_before_dashes, read_script_command
from gantune.errors import UsageError


def profile(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A checkpoint.", callback=check_names)
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND]", help="A training script: -- python train.py ARGS"),
    ] = None,
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
    steps: Annotated[int, typer.Option(min=1, help="Steps of a script in each stage.")] = 4,
    warmup: Annotated[int, typer.Option(min=1, help="First steps of a script that do not count.")] = 3,
    stop_after: Annotated[
        bool, typer.Option("--stop-after", help="End the script once it is profiled.")
    ] = False,
    threads: ThreadsOption = None,
    image_size: ImageSizeOption = 64,
    seed: SeedOption = 0,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Say what takes the time of a network, a training script or a trace, why, and what mending gains."""
    script = read_script_command()
    files = given_before_dashes(file, command, script)
    choices = (("FILE", files), ("--trace", trace), ("--diff", diff), ("-- COMMAND", script))
    given = [name for name, value in choices if value not in (None, [])]
    if len(given) != 1 or len(files) > 1:
        raise UsageError(
            f"Found {' and '.join(given) or 'nothing to profile'}{': ' if files else ''}{' '.join(files)}. "
            "Name one of: a checkpoint FILE, --trace FILE, --diff A B for two profiles, or "
            "-- python train.py ARGS for a training script."
        )
    if script:
        _profile_script(script, _ScriptRequest(steps, warmup, stop_after, out, overwrite, json))
        return
    if diff is not None:
        _compare(*diff, json=json)
        return
    from gantune.profiling.run import profile_checkpoint, profile_trace
    from gantune.reporting.profile_text import profile_text

    typed = shlex.join(["gantune", *sys.argv[1:]])
    if trace is not None:
        report_progress(f"reading {trace}")
        found = profile_trace(trace, command=typed, out=out, overwrite=overwrite)
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
        found = profile_checkpoint(file, options, command=typed, out=out, overwrite=overwrite)
    print(found.model_dump_json(indent=2) if json else profile_text(found))


class _ScriptRequest(NamedTuple):
    steps: int
    warmup: int
    stop_after: bool
    out: Path | None
    overwrite: bool
    json: bool


def _profile_script(script: list[str], request: _ScriptRequest) -> None:
    from gantune.profiling.launch.options import WatchOptions
    from gantune.profiling.run import profile_command
    from gantune.reporting.profile_text import profile_text

    report_progress(f"profiling {shlex.join(script)}")
    options = WatchOptions(
        folder=Path(),
        warmup_steps=request.warmup,
        plain_steps=request.steps,
        sampled_steps=request.steps,
        captured_steps=request.steps,
        is_stopping=request.stop_after,
    )
    profile_command(
        script,
        options,
        command=shlex.join(["gantune", *sys.argv[1:]]),
        out=request.out,
        overwrite=request.overwrite,
        on_profile=lambda found: print(
            found.model_dump_json(indent=2) if request.json else profile_text(found), flush=True
        ),
    )


def _compare(before: Path, after: Path, *, json: bool) -> None:
    from gantune.profiling.comparison import compare_profiles, read_profile
    from gantune.reporting.comparison_text import comparison_text

    found = compare_profiles(read_profile(before), read_profile(after))
    print(found.model_dump_json(indent=2) if json else comparison_text(found))
