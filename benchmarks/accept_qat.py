"""Does training with the rounding beat rounding after it, at W4A4? `benchmarks/results/accept-qat.json`.

Every seed calibrates, rounds and fine-tunes anew. Both rounded generators are held against the float one on
the same latents, which no part of it saw, and against test pictures. The curves are written beside the
figures, to `accept-qat-curves.json`. Data: `python scripts/fetch_training_data.py`.
"""

import argparse
import hashlib
import json
import sys
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from publish import RESULTS, ROOT, publish
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from gantune.networks.contract import Network
from gantune.optimizing.finetuning import Pupil, finetune
from gantune.optimizing.finetuning_data import open_lessons
from gantune.optimizing.finetuning_options import FinetuneOptions
from gantune.optimizing.quantization_candidates import calibrate_for_engine, draw_selection_inputs
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.quantization_source import load_float_network
from gantune.optimizing.revert import choose_observer
from gantune.optimizing.samples import TEST_SEED_OFFSET
from gantune.quality.efficientnet_lite import open_efficientnet
from gantune.quality.features import FeatureNetwork
from gantune.quality.frechet import frechet_distance
from gantune.quality.moments import Moments
from gantune.quality.paired import psnr_db
from gantune.quality.pixels import pixels_from_output
from gantune.records.figures import Figure
from gantune.records.interface import OutputSpec
from gantune.runtime.sampling import draw_inputs
from gantune.training.dataset import ImageDataset
from gantune.transforms.quantize import QuantizeOptions, quantize

W4A4 = QuantizeOptions(weight_bits=4, activation_bits=4)
BATCH = 100
# Two-sided 95 % quantiles of Student's t, by degrees of freedom.
STUDENT = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365}
WHAT = "first and last convolution and linear layers keep float activations and 8-bit weights"


@dataclass(frozen=True)
class Judge:
    """The float network's images of held-out latents, and the moments of test pictures."""

    expected: Tensor
    features: FeatureNetwork
    keep: Path
    real: Moments
    original: Moments

    def __call__(self, images: Tensor) -> dict[str, float]:
        """Give the figures of a network's images of the same latents."""
        moments = Moments.of(features_of(self.features, images, self.keep))
        error_db = psnr_db(images.numpy(), self.expected.numpy(), value_range=2.0)
        return {
            "psnr_db": float("inf") if error_db is None else error_db,
            "frechet_to_pictures": frechet_distance(moments, self.real).value,
            "frechet_to_float": frechet_distance(moments, self.original).value,
        }


def features_of(network: FeatureNetwork, images: Tensor, keep: Path) -> Tensor:
    """Give the features [N, K] of images in [-1, 1]; they take most of the time, and are kept by content."""
    name = hashlib.sha256(images.numpy().tobytes() + network.weights_sha256.encode()).hexdigest()[:16]
    path = keep / f"features-{name}.safetensors"
    if path.is_file():
        return load_file(path)["features"]
    output = OutputSpec(channels=images.shape[1])
    parts: list[Tensor] = list(torch.split(images, BATCH))
    found = torch.cat([network.extract(pixels_from_output(part.numpy(), output)).features for part in parts])
    save_file({"features": found}, path)
    return found


def open_judge(network: nn.Module, test: Path, count: int, keep: Path) -> Judge:
    """Draw the latents and read the test pictures."""
    features = open_efficientnet()
    real, expected = read_pictures(test, count), generate(network, count)
    moments = [Moments.of(features_of(features, images, keep)) for images in (real, expected)]
    return Judge(expected, features, keep, *moments)


def read_pictures(path: Path, count: int) -> Tensor:
    """Read pictures from all over a data set."""
    dataset = ImageDataset(path)
    stride = dataset.num_stored // count
    pixels, _ = dataset[[index * stride for index in range(count)]]
    return pixels.float() / 127.5 - 1


@torch.inference_mode()
def generate(network: nn.Module, count: int) -> Tensor:
    """Run a network on held-out latents."""
    assert isinstance(network, Network)
    drawn = draw_inputs(network.inputs, count, TEST_SEED_OFFSET)
    parts = [
        network(**{name: torch.from_numpy(array[start : start + BATCH]) for name, array in drawn.items()})
        for start in range(0, count, BATCH)
    ]
    return torch.cat(parts)


def train_seed(path: Path, options: FinetuneOptions, seed: int, *, count: int, keep: Path) -> None:
    """Round and fine-tune with one seed, and keep the images of both networks and the record."""
    network = load_float_network(path)
    run = QuantizationRun(scheme=W4A4, threads=1, seed=seed, finetune=options)
    lessons = open_lessons(path, network, options)
    prepared = calibrate_for_engine(network, run)
    inputs = draw_selection_inputs(prepared.network, run)
    observer = choose_observer(prepared.network, prepared.calibration, inputs, run)
    rounded = quantize(prepared.network, prepared.calibration, replace(W4A4, observer=observer))
    pupil = Pupil(prepared.network, rounded, lessons.discriminator)
    tuned = finetune(pupil, lessons.dataset, options, run, on_progress=say)
    if tuned.network is None:
        raise SystemExit(f"seed {seed}: stopped, {tuned.record.stopped}")
    images = {"ptq": generate(rounded, count), "qat": generate(tuned.network, count)}
    keep.write_text(tuned.record.model_dump_json() + "\n")
    save_file(images, keep.with_suffix(".safetensors"), metadata={"observer": observer})


def judge_seed(judge: Judge, keep: Path, seed: int) -> dict[str, Any]:
    """Judge what `train_seed` kept."""
    found = {name: judge(images) for name, images in load_file(keep.with_suffix(".safetensors")).items()}
    say(f"seed {seed}: {found}")
    return {"seed": seed, "record": json.loads(keep.read_text())} | found


def compare(found: list[dict[str, Any]]) -> list[Figure]:
    """Put the seeds together: the mean gain with its interval, and what it cost."""
    rows = []
    for key, unit, sign, bar in (
        ("psnr_db", "dB", 1, "> 0 dB, interval above 0"),
        ("frechet_to_pictures", "", -1, "> 0, interval above 0"),
        ("frechet_to_float", "", -1, None),
    ):
        pairs = [(seed["ptq"][key], seed["qat"][key]) for seed in found]
        gains = [sign * (after - before) for before, after in pairs]
        low, high = student_interval(gains)
        shown = "; ".join(f"{before:.4g} to {after:.4g}" for before, after in pairs)
        word = "PSNR to the float images" if key == "psnr_db" else f"{key.replace('_', ' ')}, fall"
        rows.append(
            Figure(
                name=f"QAT over PTQ at W4A4: {word}", value=mean(gains), unit=unit, low=low, high=high,
                bar=bar, met=None if bar is None else low > 0,
                how=f"mean over {len(found)} seeds, Student's 95 % interval; by seed {shown}; {WHAT}",
            )
        )  # fmt: skip
    seconds = [seed["record"]["seconds"] for seed in found]
    record = found[0]["record"]
    num_steps = record["num_steps"]
    rows.append(
        Figure(
            name="QAT: wall time of a seed", value=mean(seconds), unit="s", low=min(seconds),
            high=max(seconds),
            how=f"{num_steps} steps of {record['num_images'] // num_steps} images, 1 thread; "
            f"discriminator {record['discriminator']}, steps of the grids {record['steps']}",
        )
    )  # fmt: skip
    return rows


def student_interval(values: list[float]) -> tuple[float, float]:
    """Give the 95 % interval of the mean of a few seeds."""
    half = STUDENT[len(values) - 1] * stdev(values) / sqrt(len(values))
    return mean(values) - half, mean(values) + half


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, default=ROOT / "samples" / "fashion-mnist-32.safetensors")
    parser.add_argument("--data", type=Path, default=ROOT / ".cache" / "training" / "fashion-mnist-32.zip")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3])
    parser.add_argument("--kimg", type=float, default=1.6)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--keep", type=Path, default=ROOT / ".cache" / "bench" / "qat")
    parser.add_argument("--only-train", action="store_true", help="judge and publish nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.keep.mkdir(parents=True, exist_ok=True)
    options = FinetuneOptions(data=arguments.data, kimg=arguments.kimg, batch=arguments.batch)
    files = {seed: arguments.keep / f"seed-{seed}.json" for seed in arguments.seeds}
    for seed, keep in files.items():
        if not keep.is_file():
            train_seed(arguments.file, options, seed, count=arguments.images, keep=keep)
    if arguments.only_train:
        return 0
    test = arguments.data.with_name(f"{arguments.data.stem}-test.zip")
    judge = open_judge(load_float_network(arguments.file), test, arguments.images, arguments.keep)
    seeds = [judge_seed(judge, keep, seed) for seed, keep in files.items()]
    curves = {str(seed["seed"]): seed["record"] for seed in seeds}
    (RESULTS / "accept-qat-curves.json").write_text(json.dumps(curves, indent=1) + "\n")
    return publish("accept-qat", compare(seeds))


def say(text: str) -> None:
    """Say on stderr what is being done."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
