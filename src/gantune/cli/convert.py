"""`gantune convert`: any checkpoint to safetensors, checked on fixed inputs."""

from pathlib import Path
from typing import Annotated

import typer

from gantune.cli.console import print_facts, print_json
from gantune.cli.options import JsonOption, NetworkArgument, OverwriteOption


def convert(
    file: NetworkArgument,
    out: Annotated[Path, typer.Option("--out", help="The safetensors file to write.", show_default=False)],
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Convert a checkpoint to safetensors, which no program has to unpickle, and compare the images."""
    from gantune import checkpoints

    result = checkpoints.convert(file, out, overwrite=overwrite)
    facts: dict[str, object] = {
        "written": str(result.out),
        "format": result.source_format,
        "networks": ", ".join(result.networks),
        "max_abs": result.max_abs,
        "bound": result.bound,
    }
    print_json(facts) if json else print_facts(facts)
