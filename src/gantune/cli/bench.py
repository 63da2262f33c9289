"""`gantune bench`: subjects side by side on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from gantune.cli.console import print_json, print_rows, report_progress
from gantune.cli.options import ImageSizeOption, JsonOption, SeedOption, ThreadsOption, check_names


def bench(
    subjects: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Checkpoints or artifacts; the first is the baseline.",
            callback=check_names,
        ),
    ],
    batch: Annotated[int, typer.Option(min=1, help="Batch size.")] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="Interleaved rounds.")] = 15,
    threads: ThreadsOption = None,
    tune_allocator: Annotated[
        bool, typer.Option("--tune-allocator", help="Run every subject with a tuned allocator.")
    ] = False,
    image_size: ImageSizeOption = 64,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Time checkpoints and artifacts, each in its own process, in interleaved rounds."""
    from gantune.machine import describe_machine
    from gantune.measuring import ComparisonOptions, compare_subjects
    from gantune.measuring.form_fallbacks import gather_fallbacks
    from gantune.measuring.named import name_subjects
    from gantune.reporting.fallback_text import fallback_text

    named = name_subjects(
        subjects, threads=threads or describe_machine().num_cores, tune_allocator=tune_allocator
    )
    report_progress(f"timing {len(named)} subjects in {rounds} rounds")
    comparison = compare_subjects(
        named,
        ComparisonOptions(
            batch_size=batch,
            seed=seed,
            image_size=image_size,
            num_rounds=rounds,
            baselines=(named[0].name,),
        ),
    )
    if json:
        print_json(comparison.model_dump(mode="json"))
        return
    rows: list[tuple[object, ...]] = []
    for result in comparison.results:
        measured = result.measured
        if measured is None:
            rows.append((result.name, None, None, None, None, result.reason))
            continue
        speedup = comparison.speedups[result.name].get(named[0].name)
        rows.append(
            (
                result.name,
                measured.latency_ms.p50,
                measured.latency_ms.p90,
                None if speedup is None else f"{speedup.median:.2f} ({speedup.low:.2f}–{speedup.high:.2f})",
                measured.peak_bytes / 2**20,
                result.precision_used,
            )
        )
    print_rows(("subject", "p50 ms", "p90 ms", "speedup", "peak MiB", "precision"), rows)
    for fallback in gather_fallbacks((result.name, result.fallbacks) for result in comparison.results):
        print(f"slower form: {fallback_text(fallback)}")
