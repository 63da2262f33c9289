"""`gantune quantize`: integers where they are worth it, and the sensitivity of every layer."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gantune.cli.console import print_json, print_rows, report_progress
from gantune.cli.options import ImageSizeOption, JsonOption, NetworkArgument, SeedOption, ThreadsOption

if TYPE_CHECKING:
    from gantune.optimizing.quantization_options import QuantizationRun
    from gantune.records.quantization import QuantizationReport

Engine = Literal["openvino", "onnxruntime"]
Observer = Literal["min_max", "moving_average", "percentile", "mse", "entropy"]
ImageError = Literal["range", "snr"]
Discriminator = Literal["float", "quantized", "frozen", "none"]
Steps = Literal["frozen", "learned"]


def quantize(
    file: NetworkArgument,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the run.", show_default=False)] = None,
    engine: Annotated[Engine, typer.Option(help="Whose integer kernels to use.")] = "openvino",
    weight_bits: Annotated[int, typer.Option(help="Bits of weights: 1 to 8, or 16.")] = 8,
    activation_bits: Annotated[int, typer.Option(help="Bits of activations; 0 stores the weights only.")] = 8,
    observer: Annotated[
        Observer | None, typer.Option(help="How ranges are chosen (default: the best of several).")
    ] = None,
    num_samples: Annotated[int, typer.Option("--num-samples", help="Calibration samples.")] = 32,
    calibration: Annotated[
        Path | None, typer.Option("--calibration", help="Pictures to calibrate an image-to-image network on.")
    ] = None,
    samples: Annotated[Path | None, typer.Option("--samples", help="Other pictures, to test it on.")] = None,
    image_size: ImageSizeOption = 64,
    min_psnr: Annotated[
        float, typer.Option("--min-psnr", help="Smallest image error allowed, in dB.")
    ] = 38.0,
    image_error: Annotated[
        ImageError, typer.Option(help="PSNR over the value range, or SNR (for networks with random weights).")
    ] = "range",
    max_size_mb: Annotated[
        float | None, typer.Option(help="Choose each layer's weight bits within this many MiB.")
    ] = None,
    max_mac_bits: Annotated[
        float | None, typer.Option(help="The same within 10⁹ multiply-accumulates × bits of both factors.")
    ] = None,
    max_latency_ms: Annotated[
        float | None, typer.Option(help="Keep as many layers in float as this latency allows, measured here.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--finetune", help="Train with the rounding, on this ZIP or folder of pictures."),
    ] = None,
    finetune_kimg: Annotated[float, typer.Option(help="Thousand images to fine-tune for.")] = 20.0,
    finetune_rate: Annotated[float, typer.Option(help="Learning rate, relative to the weights.")] = 0.002,
    finetune_discriminator: Annotated[
        Discriminator, typer.Option(help="What the generator plays against.")
    ] = "float",
    finetune_steps: Annotated[Steps, typer.Option(help="Steps of the grids.")] = "learned",
    distillation: Annotated[
        float, typer.Option(help="Weight of the error against the float images.")
    ] = 100.0,
    analyze: Annotated[
        bool, typer.Option("--analyze", help="Only measure each layer's sensitivity, and build nothing.")
    ] = False,
    bits: Annotated[str, typer.Option("--bits", help="Bits to analyze, separated by commas.")] = "8,4",
    rounds: Annotated[int, typer.Option(min=3, help="Interleaved timing rounds.")] = 15,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Quantize a generator after training, and keep the integers only where they are faster here."""
    from gantune.errors import UsageError
    from gantune.optimizing.finetuning_options import FinetuneOptions
    from gantune.optimizing.quantization import quantize_checkpoint
    from gantune.optimizing.quantization_options import QuantizationRun
    from gantune.transforms.quantize import QuantizeOptions

    finetuning = None
    if data is not None:
        finetuning = FinetuneOptions(
            data=data,
            kimg=finetune_kimg,
            rate=finetune_rate,
            discriminator=finetune_discriminator,
            steps=finetune_steps,
            distillation=distillation,
        )
    run = QuantizationRun(
        scheme=QuantizeOptions(
            engine=engine,
            weight_bits=weight_bits,
            activation_bits=activation_bits or None,
        ),
        observer=observer,
        num_samples=num_samples,
        pictures=calibration,
        samples=samples,
        image_size=image_size,
        min_db=min_psnr,
        image_error=image_error,
        threads=threads,
        rounds=rounds,
        seed=seed,
        finetune=finetuning,
        max_size_mb=max_size_mb,
        max_mac_bits=max_mac_bits,
        max_latency_ms=max_latency_ms,
    )
    if analyze:
        _analyze(file, run, bits, out, json=json)
        return
    if out is None:
        raise UsageError("--out names the folder for the run; name one, or use --analyze.")
    report = quantize_checkpoint(file, out, run, on_progress=report_progress)
    if json:
        print_json(report.model_dump(mode="json"))
        return
    _print_candidates(report)
    print(f"\n{report.verdict}\n\nreport    {out / 'report.html'}\nartifact  {out / 'artifact'}")


def _print_candidates(report: "QuantizationReport") -> None:
    rows = []
    for candidate in report.candidates:
        quality = candidate.quality
        error_db = quality.psnr_db if report.image_error == "range" else quality.snr_db
        rows.append(
            (
                candidate.name,
                None if candidate.latency_ms is None else candidate.latency_ms.p50,
                "identical" if error_db is None else f"{error_db:.1f}",
                f"{candidate.size_bytes / 2**20:.2f}",
                None if candidate.speedup_tuned is None else f"{candidate.speedup_tuned.median:.2f}×",
                None if candidate.integer_macs_share is None else f"{candidate.integer_macs_share:.0%}",
                candidate.reason,
            )
        )
    print_rows(("candidate", "ms", "dB", "MiB", "over tuned", "integer MACs", ""), rows)


def _analyze(file: Path, run: "QuantizationRun", bits: str, out: Path | None, *, json: bool) -> None:
    from gantune.optimizing.quantization import analyze_checkpoint, write_analysis

    table = analyze_checkpoint(file, run, bits=parse_bits(bits), on_progress=report_progress)
    if out is not None:
        write_analysis(table, out)
    if json:
        print_json(table.model_dump(mode="json"))
        return
    rows = [
        (row.layer, row.part, row.bits, row.psnr_db, row.ssim, row.spectrum_db)
        for row in sorted(table.rows, key=lambda row: row.psnr_db or float("inf"))
    ]
    print_rows(("layer", "part", "bits", "PSNR dB", "SSIM", "spectrum dB"), rows)
    if out is not None:
        print(f"\nreport    {out / 'report.html'}")


def parse_bits(text: str) -> tuple[int, ...]:
    """Read numbers separated by commas; raise `UsageError` for anything else."""
    from gantune.errors import UsageError

    words = [word.strip() for word in text.split(",")]
    if not all(word.isdigit() for word in words):
        raise UsageError(f"--bits is {text!r}; it must be numbers separated by commas, such as 8,4.")
    return tuple(int(word) for word in words)
