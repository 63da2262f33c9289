"""`gantune generate`: pictures from a checkpoint or an artifact."""

from pathlib import Path
from typing import Annotated

import typer

from gantune.cli.console import print_facts, print_json, report_progress
from gantune.cli.options import JsonOption, OverwriteOption, SubjectArgument


def generate(
    file: SubjectArgument,
    out: Annotated[Path, typer.Option("--out", help="The folder for the pictures.", show_default=False)],
    seeds: Annotated[str, typer.Option(help="Seeds, as 0-3,7: one picture each.")] = "0-3",
    truncation_psi: Annotated[
        float | None, typer.Option("--trunc", help="Truncation psi; 1 is none.")
    ] = None,
    label: Annotated[int | None, typer.Option("--class", min=0, help="Class of every picture.")] = None,
    images: Annotated[Path | None, typer.Option("--input", help="Picture, or folder, to transform.")] = None,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Generate one PNG a seed, or one for each input picture of an image-to-image network."""
    from gantune import runtime
    from gantune.measuring.original import RunnableOriginal
    from gantune.runtime.generation import GenerateOptions, generate_images, parse_seeds

    options = GenerateOptions(
        seeds=parse_seeds(seeds),
        truncation_psi=truncation_psi,
        label=label,
        images=images,
        overwrite=overwrite,
    )
    network = runtime.load(file) if file.is_dir() else RunnableOriginal(file)
    written = generate_images(network, out, options=options, on_progress=report_progress)
    facts: dict[str, object] = {"written": [str(path) for path in written]}
    print_json(facts) if json else print_facts({path.name: str(path) for path in written})
