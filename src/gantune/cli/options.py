"""The options that several commands share, said once."""

from pathlib import Path
from typing import Annotated

import typer

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace what is already there.")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of every random choice.")]
ThreadsOption = Annotated[int | None, typer.Option("--threads", min=1, help="Threads (default: all cores).")]
NetworkArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A checkpoint.", show_default=False)]
SubjectArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A checkpoint or an artifact folder.", show_default=False)
]
ImageSizeOption = Annotated[
    int, typer.Option("--image-size", min=8, help="Height and width where an image input leaves them free.")
]
