"""`gantune optimize`: the main job."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from gantune.cli.console import print_json, report_progress
from gantune.cli.options import ImageSizeOption, JsonOption, NetworkArgument, OverwriteOption, SeedOption

Goal = Literal["latency", "throughput", "memory", "size"]
Precision = Literal["any", "fp32", "bf16", "int8"]
Target = Literal["cpu", "nvidia", "edge", "cross-platform"]
ImageError = Literal["range", "snr"]
Bound = Annotated[float | None, typer.Option(show_default=False)]


def optimize(
    file: NetworkArgument,
    out: Annotated[Path, typer.Option("--out", help="Folder for the run.", show_default=False)],
    target: Annotated[Target, typer.Option(help="Where it will run.")] = "cpu",
    goal: Annotated[Goal, typer.Option(help="What to improve.")] = "latency",
    precision: Annotated[Precision, typer.Option(help="fp32 keeps only exact candidates.")] = "any",
    min_psnr: Annotated[
        float, typer.Option("--min-psnr", help="Smallest image error allowed, in dB.")
    ] = 40.0,
    max_spectrum: Annotated[float | None, typer.Option(help="Largest spectrum change, in dB.")] = None,
    max_latency_ms: Annotated[float | None, typer.Option(help="Largest median latency.")] = None,
    max_peak_bytes: Annotated[int | None, typer.Option(help="Largest peak memory.")] = None,
    max_size_bytes: Annotated[int | None, typer.Option(help="Largest artifact.")] = None,
    image_error: Annotated[
        ImageError, typer.Option(help="PSNR over the value range, or SNR (for networks with random weights).")
    ] = "range",
    max_frechet_loss: Annotated[
        float | None, typer.Option(help="Largest relative Fréchet loss; 0.02 is 2 %.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Real pictures, for Fréchet distances: a folder or a ZIP.")
    ] = None,
    num_images: Annotated[int, typer.Option(min=2, help="Images a Fréchet distance is taken over.")] = 10_000,
    budget_minutes: Annotated[float | None, typer.Option(help="Search no longer than this.")] = None,
    samples: Annotated[
        Path | None, typer.Option("--samples", help="Pictures to test an image-to-image network on.")
    ] = None,
    image_size: ImageSizeOption = 64,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Batch size that is timed (default: 8 for throughput, else 1).")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads (default: all cores).")] = None,
    rounds: Annotated[int, typer.Option(min=3, help="Interleaved timing rounds.")] = 15,
    plan: Annotated[Path | None, typer.Option(help="Replay the plan.yaml of an earlier run.")] = None,
    require: Annotated[bool, typer.Option("--require", help="Exit 7 if no candidate is kept.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and stop.")] = False,
    seed: SeedOption = 0,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Make a generator fast on this machine, prove it, and leave an artifact and a report."""
    from gantune.optimizing import OptimizeOptions, make_plan, run_plan
    from gantune.optimizing.run_folder import read_plan
    from gantune.quality.gate import Budget
    from gantune.reporting.text import plan_text, report_text

    options = OptimizeOptions(
        target=target,
        goal=goal,
        precision=precision,
        budget=Budget(
            min_psnr_db=min_psnr,
            max_spectrum_db=max_spectrum,
            max_frechet_loss=max_frechet_loss,
            max_latency_ms=max_latency_ms,
            max_peak_bytes=max_peak_bytes,
            max_size_bytes=max_size_bytes,
        ),
        image_error=image_error,
        budget_minutes=budget_minutes,
        samples=samples,
        image_size=image_size,
        batch=batch,
        threads=threads,
        rounds=rounds,
        seed=seed,
        data=data,
        num_images=num_images,
    )
    the_plan = make_plan(file, options) if plan is None else read_plan(plan)
    if dry_run:
        print_json(the_plan.model_dump(mode="json")) if json else print(plan_text(the_plan))
        return
    result = run_plan(file, the_plan, out, overwrite=overwrite, on_progress=report_progress)
    if json:
        print_json(result.report.model_dump(mode="json"))
    else:
        print(report_text(result.report))
        print(f"\nreport    {result.out / 'report.html'}")
        if result.artifact is not None:
            print(f"artifact  {result.artifact}")
    if require:
        result.require_best()
