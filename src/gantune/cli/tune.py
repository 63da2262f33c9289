"""`gantune tune`: make somebody else's training script faster without changing it."""

from pathlib import Path
from typing import Annotated

import typer

from gantune.cli.console import report_progress
from gantune.cli.options import JsonOption, OverwriteOption
from gantune.cli.script_command import read_script_command
from gantune.errors import StorageError, UsageError


def tune(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="A training script: -- python train.py ARGS"),
    ] = None,
    goal: Annotated[float | None, typer.Option(min=1, help="Stop at so many times the steps/s.")] = None,
    steps: Annotated[int, typer.Option(min=2, help="Timed steps of each short window, at least.")] = 4,
    warmup: Annotated[int, typer.Option(min=1, help="First steps of a window that do not count.")] = 2,
    pairs: Annotated[int, typer.Option(min=2, help="Pairs that confirm a promising remedy.")] = 3,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write tuning.json.")] = None,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Try remedies on a training script one at a time, keep what is faster and trains the same."""
    script = read_script_command()
    if not script:
        raise UsageError(
            "No script is named. Write it after two dashes: gantune tune -- python train.py ARGS"
        )
    path = None if out is None else out / "tuning.json"
    if path is not None and path.exists() and not overwrite:
        raise StorageError(f"{path} is there already. Name another --out folder, or add --overwrite.")
    from gantune.reporting.tuning_text import tuning_text
    from gantune.tuning.loop import TuneOptions, tune_script
    from gantune.tuning.trial import TrialOptions

    options = TuneOptions(goal=goal, num_pairs=pairs, trial=TrialOptions(warmup_steps=warmup, steps=steps))
    found = tune_script(script, options, report=report_progress)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found.model_dump_json(indent=1) + "\n", encoding="utf-8")
    print(found.model_dump_json(indent=2) if json else tuning_text(found))
