"""The acceptance figures of the quality metrics: `benchmarks/results/accept-quality.json`."""

import math
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
import torch
from numpy.typing import NDArray
from PIL import Image, ImageFilter
from publish import ROOT, publish
from torch import Tensor, nn
from torchmetrics.image.fid import FrechetInceptionDistance
from torchmetrics.image.inception import InceptionScore
from torchmetrics.image.kid import KernelInceptionDistance

from gantune.networks.catalogue import build_network
from gantune.networks.contract import Config
from gantune.networks.stylegan3 import StyleGAN3Generator, calibrate_magnitudes
from gantune.quality.difference import paired_difference
from gantune.quality.efficientnet_lite import open_efficientnet
from gantune.quality.equivariance import EquivarianceOptions, Motion, equivariance_db
from gantune.quality.feature_sets import gather_features
from gantune.quality.features import module_features
from gantune.quality.frechet import frechet_distance
from gantune.quality.frechet_loss import frechet_loss
from gantune.quality.inception_score import inception_score
from gantune.quality.kernel import KernelOptions, kernel_distance
from gantune.quality.moments import Moments
from gantune.quality.pixels import pixels_from_bytes
from gantune.quality.precision_recall import manifold_scores
from gantune.records.figures import Figure
from gantune.records.interface import OutputSpec

REAL = ROOT / ".cache" / "real"
PHOTOGRAPHS = ("astronaut.png", "chelsea.png", "coffee.png", "china.jpg", "flower.jpg")


class Flat(nn.Module):
    """Features that are the values themselves."""

    num_features = 48

    def forward(self, images: Tensor) -> Tensor:
        return images.reshape(len(images), -1)


def draw(n: int, seed: int, *, k: int = 48, scale: float = 1.0, offset: float = 0.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, k, generator=generator, dtype=torch.float64) * scale + offset


def as_images(features: Tensor) -> Tensor:
    return features.reshape(-1, 3, 4, 4)


def compare_frechet() -> Figure:
    cases = {
        "300 and 400": (draw(300, 0), draw(400, 1, scale=1.2)),
        "below the feature dimension": (draw(20, 0), draw(30, 1, scale=1.2)),
        "offset by 1e3": (draw(300, 0, offset=1e3), draw(300, 1, offset=1e3 + 0.5)),
        "duplicates": (draw(10, 0).repeat(30, 1), draw(200, 1)),
    }
    worst = 0.0
    for real, fake in cases.values():
        metric = FrechetInceptionDistance(feature=Flat(), normalize=True).set_dtype(torch.float64)
        metric.update(as_images(real), real=True)
        metric.update(as_images(fake), real=False)
        expected = float(metric.compute())
        found = frechet_distance(Moments.of(real), Moments.of(fake)).value
        worst = max(worst, abs(found - expected) / expected)
    return figure(
        "FID against torchmetrics 1.9: largest relative difference", worst, "", "≤ 1e-4", worst <= 1e-4,
        f"custom feature module of 48; {', '.join(cases)}",
    )  # fmt: skip


def compare_kernel() -> Figure:
    real, fake = draw(80, 0), draw(80, 1, offset=0.3)
    metric = KernelInceptionDistance(feature=Flat(), subsets=1, subset_size=80, normalize=True)
    metric.update(as_images(real), real=True)
    metric.update(as_images(fake), real=False)
    expected = float(metric.compute()[0])
    found = kernel_distance(real, fake, KernelOptions(subset_size=80)).value
    error = abs(found - expected) / abs(expected)
    return figure(
        "KID against torchmetrics 1.9: relative difference", error, "", "≤ 1e-4", error <= 1e-4,
        "one subset of all 80 images",
    )  # fmt: skip


def compare_inception_score() -> Figure:
    logits = 3 * draw(200, 0).float()
    metric = InceptionScore(feature=Flat(), splits=1)
    metric.update(as_images(logits))
    expected = float(metric.compute()[0])
    error = abs(inception_score(logits, num_splits=1)[0] - expected) / expected
    return figure(
        "IS against torchmetrics 1.9: relative difference", error, "", "≤ 1e-4", error <= 1e-4, "one split"
    )


def compare_manifolds() -> Figure:
    """Compare precision, recall, density and coverage with their definitions, written out pair by pair."""
    worst = 0.0
    for neighbors in (1, 3, 5):
        for offset in (0.0, 1e3):
            real = draw(40, neighbors, k=4, offset=offset)
            fake = draw(30, 100 + neighbors, k=4, scale=1.5, offset=offset + 0.5)
            found = manifold_scores(real, fake, num_neighbors=neighbors)
            expected = _score_by_pairs(real, fake, neighbors)
            given = (found.precision, found.recall, found.density, found.coverage)
            worst = max(worst, *(abs(a - b) for a, b in zip(given, expected, strict=True)))
    return figure(
        "precision, recall, density, coverage against brute-force k-NN: largest difference", worst, "",
        "≤ 1e-9", worst <= 1e-9, "40 real and 30 other points, 1, 3 and 5 neighbors, also offset by 1e3",
    )  # fmt: skip


def _score_by_pairs(real: Tensor, fake: Tensor, neighbors: int) -> tuple[float, float, float, float]:
    def distances(a: Tensor, b: Tensor) -> Tensor:
        return torch.stack([(point - b).square().sum(dim=1).sqrt() for point in a])

    def radii(points: Tensor) -> Tensor:
        return distances(points, points).sort(dim=1).values[:, neighbors]

    between = distances(real, fake)
    in_real, in_fake = between <= radii(real)[:, None], between <= radii(fake)[None]
    return (
        float(in_real.any(dim=0).double().mean()),
        float(in_fake.any(dim=1).double().mean()),
        float(in_real.sum()) / (neighbors * len(fake)),
        float(in_real.any(dim=1).double().mean()),
    )


def order_damage() -> Figure:
    crops = [crop for name in PHOTOGRAPHS for crop in cut(Image.open(REAL / name).convert("RGB"))]
    noise = np.random.default_rng(0)
    damages = {
        "identical": [np.asarray(crop) for crop in crops],
        "8 levels": [np.asarray(crop) // 32 * 32 + 16 for crop in crops],
        "blur": [np.asarray(crop.filter(ImageFilter.GaussianBlur(1.5))) for crop in crops],
        "more blur": [np.asarray(crop.filter(ImageFilter.GaussianBlur(3))) for crop in crops],
        "noise": [
            np.clip(np.asarray(crop) + noise.normal(0, 80, (64, 64, 3)), 0, 255).astype(np.uint8)
            for crop in crops
        ],
    }
    network = open_efficientnet()
    sets = {name: Moments.of(extract(network, images)) for name, images in damages.items()}
    distances = {name: frechet_distance(sets["identical"], found).value for name, found in sets.items()}
    values = list(distances.values())
    smallest = min(b - a for a, b in pairwise(values))
    shown = ", ".join(f"{name} {value:.3g}" for name, value in distances.items())
    return figure(
        "planted damage orders strictly: smallest step", smallest, "", "> 0", smallest > 0,
        f"{len(crops)} crops of photographs, Fréchet distance on EfficientNet-Lite0: {shown}",
    )  # fmt: skip


def cut(picture: Image.Image) -> list[Image.Image]:
    generator = np.random.default_rng(picture.width)
    corners = [
        (int(generator.integers(picture.width - 128)), int(generator.integers(picture.height - 128)))
        for _ in range(16)
    ]
    return [picture.crop((x, y, x + 128, y + 128)).resize((64, 64)) for x, y in corners]


def extract(network: object, images: list[NDArray[np.uint8]]) -> Tensor:
    pixels = pixels_from_bytes(np.stack(images).transpose(0, 3, 1, 2).astype(np.uint8))
    features: Tensor = network.extract(pixels).features  # type: ignore[attr-defined]
    return features


def cover_nothing() -> list[Figure]:
    means = losses = 0
    for repeat in range(100):
        old, fresh, other = (draw(250, 3 * repeat + part, k=8) for part in range(3))
        new = math.sqrt(0.75) * old + 0.5 * fresh
        found = paired_difference(
            new[:, 0].numpy(), old[:, 0].numpy(), is_lower_better=True, num_resamples=500, seed=repeat
        )
        means += found.low <= 0 <= found.high
        loss = frechet_loss(new, old, Moments.of(other * 1.2 + 0.3), seed=repeat).difference
        losses += loss.low <= 0 <= loss.high
    how = "100 repeats, 250 pairs of one distribution, 8 features"
    return [
        figure(f"null-difference intervals cover 0 ({name})", count, "of 100", "≥ 90", count >= 90, how)
        for name, count in (("paired mean", means), ("Fréchet", losses))
    ]


def alias_free(changes: Config) -> StyleGAN3Generator:
    config: Config = {
        "z_dim": 16, "c_dim": 0, "w_dim": 16, "img_resolution": 64, "img_channels": 3,
        "channel_base": 512, "channel_max": 16, "num_layers": 8,
    }  # fmt: skip
    torch.manual_seed(0)
    network = build_network("stylegan3", config | changes)
    assert isinstance(network, StyleGAN3Generator)
    calibrate_magnitudes(network, 0)
    return network


def measure_equivariance() -> list[Figure]:
    def score(changes: Config, motion: Motion) -> float:
        return equivariance_db(alias_free(changes), motion, EquivarianceOptions(num_samples=10))[0]

    fall = score({}, "translation") - score({"filter_size": 1}, "translation")
    turning: Config = {"conv_kernel": 1, "use_radial_filters": True}
    gain = score(turning, "rotation") - score({}, "rotation")
    how = "random weights with calibrated magnitudes, 64², 10 samples"
    return [
        figure("EQ-T falls without the filters around the nonlinearity", fall, "dB", "≥ 10", fall >= 10, how),
        figure("EQ-R of StyleGAN3-R exceeds its translation-only twin's", gain, "dB", "> 0", gain > 0, how),
    ]


class Noise:
    """50,000 images at 32² that are drawn when they are read; the process's size is noted at each."""

    output = OutputSpec()
    num_images = 50_000

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}
        self._process = psutil.Process()

    def read(self, start: int, stop: int) -> NDArray[np.float32]:
        self.sizes[start] = self._process.memory_info().rss
        generator = np.random.default_rng(start)
        return generator.uniform(-1, 1, (stop - start, 3, 32, 32)).astype(np.float32)


def measure_growth() -> Figure:
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 64, 5, stride=4), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 256)
    network = module_features("convolution", nn.Sequential(*layers))
    source = Noise()
    found = gather_features(source, network, start=0, stop=source.num_images, batch=100, num_kept=0)
    assert frechet_distance(found.moments, found.moments).value < 1e-6
    sizes = [*source.sizes.values(), psutil.Process().memory_info().rss]
    growth = max(sizes[50:]) - source.sizes[5000]
    return figure(
        "50,000 images at 32² through features and Fréchet: RSS growth after the first 5,000", growth / 1e6,
        "MB", "< 100 MB", growth < 100e6, "a convolution and 256 features, batches of 100",
    )  # fmt: skip


def figure(name: str, value: float, unit: str, bar: str, met: bool, how: str) -> Figure:
    return Figure(name=name, value=float(value), unit=unit, bar=bar, met=met, how=how)


def main() -> int:
    warnings.filterwarnings("ignore", module="torchmetrics")
    missing = [name for name in PHOTOGRAPHS if not Path(REAL / name).is_file()]
    if missing:
        print(f"{REAL} lacks {', '.join(missing)}; `make real` fetches them")
        return 1
    rows = [
        compare_frechet(),
        compare_kernel(),
        compare_inception_score(),
        compare_manifolds(),
        order_damage(),
    ]
    return publish("accept-quality", [*rows, *cover_nothing(), *measure_equivariance(), measure_growth()])


if __name__ == "__main__":
    sys.exit(main())
