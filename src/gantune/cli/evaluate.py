"""`gantune evaluate`: how good images are, and whether a difference is real."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from gantune.cli.console import print_json, print_rows, report_progress
from gantune.cli.options import ImageSizeOption, JsonOption, SeedOption, check_names
from gantune.records.score import Evaluation

ResizeMode = Literal["clean", "legacy"]


def evaluate(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A checkpoint, an artifact, or a folder or ZIP of pictures.",
            show_default=False,
            callback=check_names,
        ),
    ],
    against: Annotated[
        Path | None, typer.Option("--against", help="The original, run on the same samples.")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option("--reference", help="Folder or ZIP of real pictures.")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="A metric to compute; may be repeated.")
    ] = None,
    num_images: Annotated[int, typer.Option("--num-images", "-n", min=2, help="Images to compare.")] = 1000,
    features: Annotated[
        str, typer.Option(help="efficientnet-lite0, inception-v3-fid, or an ONNX file.")
    ] = "efficientnet-lite0",
    weights: Annotated[Path | None, typer.Option(help="File of the features' weights.")] = None,
    weights_sha256: Annotated[str | None, typer.Option(help="The hash the weights must have.")] = None,
    resize: Annotated[ResizeMode, typer.Option(help="How images meet the features' size.")] = "clean",
    download: Annotated[
        bool, typer.Option("--download", help="Allow fetching weights that are published.")
    ] = False,
    lpips_vgg: Annotated[Path | None, typer.Option(help="VGG-16's weights, for LPIPS.")] = None,
    lpips_linear: Annotated[Path | None, typer.Option(help="LPIPS's own weights.")] = None,
    truncation_psi: Annotated[float | None, typer.Option("--trunc", help="Truncation psi.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="Batch size.")] = 16,
    image_size: ImageSizeOption = 64,
    require: Annotated[
        list[str] | None,
        typer.Option("--require", help="Exit 7 unless met: min_psnr_db=40, max_frechet_loss=0.02, …"),
    ] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Score images, pairwise and as a distribution, with the identity and interval of every score."""
    from gantune.quality import requirements
    from gantune.quality.evaluation import EvaluateOptions
    from gantune.quality.evaluation import evaluate as run_evaluation
    from gantune.quality.feature_catalogue import FeatureOptions

    required = [requirements.parse_requirement(text) for text in require or ()]
    options = EvaluateOptions(
        metrics=tuple(metric or ()),
        num_images=num_images,
        batch=batch,
        seed=seed,
        image_size=image_size,
        truncation_psi=truncation_psi,
        features=FeatureOptions(
            name=features, weights=weights, sha256=weights_sha256, resize=resize, download=download
        ),
        lpips_vgg=lpips_vgg,
        lpips_linear=lpips_linear,
    )
    found = run_evaluation(
        file, against=against, reference=reference, options=options, on_progress=report_progress
    )
    print_json(found.model_dump(mode="json")) if json else _print_tables(found)
    requirements.require(found, required)


def _print_tables(found: Evaluation) -> None:
    rows: list[tuple[object, ...]] = [
        (name, score.value, _interval(score.low, score.high), score.unit, score.identity.num_images,
         score.identity.features, score.identity.resize)
        for name, score in found.scores.items()
    ]  # fmt: skip
    if found.is_identical:
        print("every pair of images is identical")
    if rows:
        print_rows(("score", "value", "95 % interval", "unit", "n", "features", "resize"), rows)
    if found.differences:
        print()
        print_rows(
            ("difference", "new − old", "95 % interval", "n", "verdict"),
            [
                (name, each.value, _interval(each.low, each.high), each.n, each.verdict)
                for name, each in found.differences.items()
            ],
        )
    if found.bands:
        print()
        print_rows(
            ("cycles/pixel", "power, dB", "error, dB"),
            [
                (f"{band.low_frequency:.3f}–{band.high_frequency:.3f}", band.power_change_db, band.error_db)
                for band in found.bands
            ],
        )
    hashes = {score.identity.weights_sha256: score.identity.features for score in found.scores.values()}
    notes = [f"{features}: {sha256}" for sha256, features in hashes.items() if sha256]
    notes += [f"{name}: {warning}" for name, score in found.scores.items() for warning in score.warnings]
    notes += [f"{name} left out: {why}" for name, why in found.left_out.items()]
    if notes:
        print("\n" + "\n".join(notes))


def _interval(low: float | None, high: float | None) -> str | None:
    return None if low is None or high is None else f"{low:.4g} to {high:.4g}"
