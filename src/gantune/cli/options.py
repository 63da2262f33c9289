"""The options that several commands share, said once."""

from pathlib import Path
from typing import Annotated, TypeVar

import typer

from gantune.errors import CheckpointError

NameT = TypeVar("NameT", Path, Path | None, list[Path])


def check_names(given: NameT) -> NameT:
    """Give back what names files to read; raise `CheckpointError` for a name that no file can have."""
    paths = given if isinstance(given, list) else [] if given is None else [given]
    for path in paths:
        try:
            path.exists()
        except OSError as error:
            raise CheckpointError(f"{path} cannot be opened: {error.strerror}. Check the path.") from error
    return given


JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace what is already there.")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of every random choice.")]
ThreadsOption = Annotated[int | None, typer.Option("--threads", min=1, help="Threads (default: all cores).")]
NetworkArgument = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A checkpoint.", show_default=False, callback=check_names),
]
SubjectArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A checkpoint or an artifact folder.", show_default=False, callback=check_names
    ),
]
ImageSizeOption = Annotated[
    int, typer.Option("--image-size", min=8, help="Height and width where an image input leaves them free.")
]
