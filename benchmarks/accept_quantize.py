"""The acceptance figures of quantization on real networks: `benchmarks/results/accept-quantize.json`."""

import argparse
import shutil
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from official import OFFICIAL, write_official
from publish import RESULTS, ROOT, publish
from torch import nn

from gantune.measuring import CheckpointSource, run_subject, tuned_baseline
from gantune.networks.contract import Network
from gantune.optimizing.bits import CostOf, choose_within_budget, list_uniform, stored_bytes
from gantune.optimizing.quantization import choose_layers, quantize_checkpoint
from gantune.optimizing.quantization_candidates import (
    Judge,
    Prepared,
    build_integers,
    calibrate_for_engine,
    draw_selection_inputs,
    round_to,
)
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.quantization_source import load_float_network
from gantune.optimizing.samples import draw_test_inputs
from gantune.optimizing.sensitivity import measure_sensitivity, run_network, run_with
from gantune.quality.evaluation import EvaluateOptions, evaluate
from gantune.quality.paired import compare_images
from gantune.records.figures import Figure, FigureTable
from gantune.records.quantization import QuantizationReport
from gantune.runtime.sampling import Array
from gantune.transforms.quantize import LayerBits

REAL = ROOT / ".cache" / "real"
CACHE = ROOT / ".cache" / "bench"
CALIBRATION_PICTURES = ("china.jpg", "flower.jpg")
TEST_PICTURES = ("astronaut.png", "coffee.png", "chelsea.png")
BIT_CHOICES = (8, 7, 6, 5, 4, 3, 2)
EQUAL_SIZES = (6, 4, 3)
THREADS = 2
PSIS = (0.3, 0.5, 0.7, 1.0)
MOST_FRECHET_LOSS = 2.0
PARTS = ("speed", "bits", "distribution")


@dataclass(frozen=True)
class Bars:
    """A network's file, how it is run, and what is asked of it; None asks nothing."""

    file: str
    gate_db: float
    speed: float | None = None
    takes_pictures: bool = False
    image_error: str = "range"
    image_size: int = 64
    has_random_weights: bool = False


NETWORKS = {
    "SRVGG x4": Bars("srvgg-x4-animevideo.param", 38.0, speed=3.6, takes_pictures=True),
    "RRDB-6": Bars("rrdb-6-x4-anime.param", 38.0, takes_pictures=True, image_size=32),
    "CycleGAN ResNet-9": Bars("cyclegan-resnet-9.pth", 38.0, takes_pictures=True, image_size=128),
    "DCGAN faces": Bars("dcgan-faces-64.tar", 38.0, speed=6.0),
    "DCGAN eyes": Bars("dcgan-eyes-128.pth", 38.0),
    "StyleGAN2-256": Bars("", 35.0, speed=4.2, image_error="snr", has_random_weights=True),
    "StyleGAN2-1024": Bars("", 35.0, speed=4.0, image_error="snr", has_random_weights=True),
    "StyleGAN3-T-256": Bars("", 35.0, speed=6.0, image_error="snr", has_random_weights=True),
    "fashion-mnist-32": Bars("samples", 38.0),
}


def main() -> int:
    """Measure the networks named on the command line, or all; rows of the others stay as they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", help=f"which of: {', '.join(NETWORKS)}")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--sample", type=Path, default=ROOT / "samples" / "fashion-mnist-32.safetensors")
    parser.add_argument("--part", action="append", choices=PARTS, help="which parts (default: all)")
    parser.add_argument("--images", type=int, default=10_000, help="how many the Fréchet loss is taken over")
    arguments = parser.parse_args()
    parts = arguments.part or PARTS
    rows = read_rows()
    for name in arguments.networks or list(NETWORKS):
        path = find_file(name, arguments.sample)
        with tempfile.TemporaryDirectory(prefix="gantune-accept-") as folder:
            run = make_run(name, Path(folder), rounds=arguments.rounds)
            found = []
            if "speed" in parts:
                found += measure_integers(name, path, run, Path(folder))
            if "bits" in parts:
                found += measure_bits(name, path, run)
            if "distribution" in parts and not NETWORKS[name].takes_pictures:
                found += measure_distribution(name, path, run, Path(folder), num_images=arguments.images)
        names = {row.name for row in found}
        rows = [row for row in read_rows() if row.name not in names] + found
        publish("accept-quantize", rows)
    return publish("accept-quantize", rows)


def read_rows() -> list[Figure]:
    """Read the rows of an earlier run, so that networks can be measured one at a time."""
    path = RESULTS / "accept-quantize.json"
    if not path.is_file():
        return []
    return list(FigureTable.model_validate_json(path.read_text()).rows)


def find_file(name: str, sample: Path) -> Path:
    """Name the network's checkpoint; the official size has random weights."""
    for official in OFFICIAL:
        if official.name == name.lower():
            return write_official(official, CACHE)
    return sample if name == "fashion-mnist-32" else REAL / NETWORKS[name].file


def make_run(name: str, folder: Path, *, rounds: int) -> QuantizationRun:
    """Say how a network is calibrated and tested; pictures for both lie in folders of their own."""
    bars = NETWORKS[name]
    run = QuantizationRun(
        min_db=bars.gate_db, rounds=rounds, num_samples=16, image_size=bars.image_size,
        image_error="snr" if bars.image_error == "snr" else "range",
    )  # fmt: skip
    if not bars.takes_pictures:
        return run
    for which, pictures in (("calibration", CALIBRATION_PICTURES), ("test", TEST_PICTURES)):
        (folder / which).mkdir()
        for picture in pictures:
            shutil.copy(REAL / picture, folder / which)
    return replace(run, pictures=folder / "calibration", samples=folder / "test")


def measure_integers(name: str, path: Path, run: QuantizationRun, folder: Path) -> list[Figure]:
    """Run `gantune quantize` as its users do, and read its report."""
    report = quantize_checkpoint(path, folder / "run", run, on_progress=say)
    say(f"{name}: {report.verdict}")
    bars = NETWORKS[name]
    integers = [candidate for candidate in report.candidates if candidate.precision == "int8"]
    best = max(integers, key=lambda c: -1.0 if c.speedup_tuned is None else c.speedup_tuned.median)
    error = best.quality.psnr_db if run.image_error == "range" else best.quality.snr_db
    ratio = report.float32_bytes / best.size_bytes
    speed = best.speedup_tuned
    how = f"{best.name}, {'PSNR' if run.image_error == 'range' else 'SNR'} on held-out test inputs"
    share = best.integer_macs_share
    return [
        row(f"{name} W8A8 mixed: image error", error, "dB", bars.gate_db, how),
        row(f"{name} W8A8 mixed: SSIM", best.quality.ssim, "", None, how),
        row(f"{name} W8A8 mixed: spectrum", best.quality.spectrum_db, "dB", None, how),
        row(f"{name} W8A8 mixed: float32 size over its size", ratio, "×", 3.5, best.name),
        row(
            f"{name} W8A8 mixed: against tuned", None if speed is None else speed.median, "×", bars.speed,
            f"{best.name}, {run.rounds} rounds, kept: {report.kept}", speed=speed,
        ),
        row(
            f"{name} W8A8 mixed: dense MACs run as integers", None if share is None else 100 * share, "%",
            90.0, explain(report),
        ),
        row(
            f"{name} int8 against the best float candidate",
            None if best.speedup_best_float is None else best.speedup_best_float.median, "×", None,
            report.verdict, speed=best.speedup_best_float,
        ),
        keep_row(name, report, run),
    ]  # fmt: skip


def keep_row(name: str, report: QuantizationReport, run: QuantizationRun) -> Figure:
    """Show what the user is left with, whether its numbers are integers or not."""
    kept = next(candidate for candidate in report.candidates if candidate.name == report.kept)
    speed = kept.speedup_tuned
    how = f"{kept.name}, {run.error_db(kept.quality):.1f} dB"
    value = None if speed is None else speed.median
    return row(f"{name} what quantize keeps: against tuned", value, "×", None, how, speed=speed)


def measure_distribution(
    name: str, path: Path, run: QuantizationRun, folder: Path, *, num_images: int
) -> list[Figure]:
    """Build the integers alone; compare their images class by class, psi by psi, and as a distribution."""
    network = load_float_network(path)
    assert isinstance(network, Network)
    prepared = choose_layers(calibrate_for_engine(network, run), run, on_progress=say)
    arrays = draw_test_inputs(network.inputs, seed=run.seed, samples=None, image_size=run.image_size)
    original = tuned_baseline(CheckpointSource(path=path.resolve()), threads=THREADS)
    judge_all = Judge(arrays, run_subject(original, arrays), network.output.value_range, THREADS)
    rounded = round_to(prepared, run)
    built = build_integers(rounded, prepared.calibration, run, "fp32", folder / "integers", judge_all)
    rows = []
    for word, choices in (("class", each_class(network, arrays)), ("psi", each_psi(network, arrays))):
        errors = {
            label: run.error_db(
                Judge(chosen, run_subject(original, chosen), network.output.value_range, THREADS)(
                    built.folder
                )[0]
            )
            for label, chosen in choices.items()
        }
        if errors:
            worst = min(errors, key=errors.__getitem__)
            how = f"{word} {worst} of {', '.join(errors)}; {built.name}, 8 samples each"
            rows.append(
                row(f"{name} W8A8 mixed: image error of the worst {word}", errors[worst], "dB", None, how)
            )
    if NETWORKS[name].has_random_weights:
        return rows
    options = EvaluateOptions(metrics=("frechet_loss",), num_images=num_images)
    loss = evaluate(built.folder, against=path, options=options, on_progress=say).scores["frechet_loss"]
    assert loss.high is not None
    rows.append(
        Figure(
            name=f"{name} W8A8 mixed: Fréchet loss", value=100 * loss.value, unit="%",
            low=100 * (loss.low or 0.0), high=100 * loss.high, bar=f"≤ {MOST_FRECHET_LOSS:g} %",
            met=100 * loss.value <= MOST_FRECHET_LOSS,
            how=f"{loss.identity.features}, {num_images:,} latents, against the original's other latents",
        )
    )  # fmt: skip
    return rows


def each_class(network: Network, arrays: dict[str, Array]) -> dict[str, dict[str, Array]]:
    """Give the test inputs once for each class, with the same latents; nothing where there are no classes."""
    spec = next((spec for spec in network.inputs if spec.kind == "class"), None)
    if spec is None:
        return {}
    count = len(arrays[spec.name])
    if spec.dtype == "int64":
        labels = [np.full(count, index, dtype=np.int64) for index in range(int(spec.high or 0) + 1)]
    else:
        labels = [np.tile(row, (count, 1)) for row in np.eye(int(spec.shape[1]), dtype=np.float32)]
    return {str(index): arrays | {spec.name: label} for index, label in enumerate(labels)}


def each_psi(network: Network, arrays: dict[str, Array]) -> dict[str, dict[str, Array]]:
    """Give the test inputs once for each truncation; nothing where the network takes none."""
    if all(spec.name != "truncation_psi" for spec in network.inputs):
        return {}
    return {f"{psi:g}": arrays | {"truncation_psi": np.asarray(psi, dtype=np.float32)} for psi in PSIS}


def explain(report: QuantizationReport) -> str:
    """Name the layers that did not run as integers."""
    rest = [layer.name for layer in report.layers if layer.executed != "int8" and layer.kind != "linear"]
    return f"from the engine's profile; in float by choice: {', '.join(rest) or 'linear layers only'}"


def measure_bits(name: str, path: Path, run: QuantizationRun) -> list[Figure]:
    """Show weight-only and low bit widths by fake quantization, and mixed widths against uniform ones."""
    network = load_float_network(path)
    assert isinstance(network, Network)
    prepared = calibrate_for_engine(network, run)
    rows = []
    for label, bits in (
        ("W8", LayerBits(8, None)), ("W8A8 everywhere", LayerBits(8, 8)), ("W4A8", LayerBits(4, 8)),
        ("W4", LayerBits(4, None)), ("W2 (ternary)", LayerBits(2, None)), ("W1 (binary)", LayerBits(1, None)),
    ):  # fmt: skip
        chosen = dict.fromkeys(prepared.calibration.layers, bits)
        rows.append(row(f"{name} {label}: image error", judge(prepared, network, run, chosen), "dB", None,
                        "every layer alike, fake quantization on held-out test inputs"))  # fmt: skip
    return rows + compare_mixed(name, prepared, network, run)


def compare_mixed(name: str, prepared: Prepared, network: nn.Module, run: QuantizationRun) -> list[Figure]:
    """Give mixed weight widths the size of each uniform one, and compare the image errors."""
    inputs = draw_selection_inputs(prepared.network, run)
    table = measure_sensitivity(
        prepared.network, prepared.calibration, inputs, bits=BIT_CHOICES, parts=("weights",)
    )
    cost: CostOf = stored_bytes(prepared.calibration)
    rows = []
    for number in EQUAL_SIZES:
        uniform = list_uniform(table, number)
        budget = sum(cost(layer, number) for layer in uniform)
        mixed = choose_within_budget(table, cost, budget)
        before, after = (
            judge(prepared, network, run, {layer: LayerBits(b, None) for layer, b in found.items()})
            for found in (uniform, mixed)
        )
        rows.append(
            Figure(
                name=f"{name} mixed over uniform weights at the size of {number} bits", value=after - before,
                unit="dB", bar="> 0 dB", met=after > before,
                how=f"{before:.1f} to {after:.1f} dB; chosen on selection inputs, judged on test inputs",
            )
        )  # fmt: skip
    return rows


def judge(prepared: Prepared, network: nn.Module, run: QuantizationRun, bits: dict[str, LayerBits]) -> float:
    """Give the image error on the test inputs."""
    assert isinstance(network, Network)
    arrays = draw_test_inputs(network.inputs, seed=run.seed, samples=run.samples, image_size=run.image_size)
    inputs = {key: torch.from_numpy(array) for key, array in arrays.items()}
    found = run_with(prepared.network, prepared.calibration, bits, inputs, run.scheme)
    quality = compare_images(found, run_network(network, inputs), value_range=network.output.value_range)
    return run.error_db(quality)


def row(
    name: str, value: float | None, unit: str, bar: float | None, how: str, *, speed: object = None
) -> Figure:
    """Write a figure that must reach its bar."""
    met = None if bar is None else value is not None and value >= bar
    low, high = getattr(speed, "low", None), getattr(speed, "high", None)
    text = None if bar is None else f"≥ {bar:g} {unit}".strip()
    return Figure(name=name, value=value, unit=unit, low=low, high=high, bar=text, met=met, how=how)


def say(text: str) -> None:
    """Say on stderr what is being done."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
