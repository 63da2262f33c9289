"""Turn a training run into a shipped sample: its networks in float16, a picture, and its figures.

    python scripts/make_sample.py RUN_FOLDER NAME

writes `samples/NAME.safetensors`, `samples/NAME.png` and `samples/NAME.json`. The figures are taken on the
data set the run was trained on, of pictures as a file holds them: clipped and rounded to bytes. With labels,
a small classifier is trained on the data (its accuracy is taken on the companion `…-test.zip`) and asked for
the class of generated images. Features are EfficientNet-Lite0's and, where there is one, the classifier's
before its last layer; beside every figure of the generator stands that of the test pictures.
"""

import argparse
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gantune.checkpoints import load_checkpoint
from gantune.checkpoints.content import CheckpointContent, NetworkContent
from gantune.checkpoints.loading import read_content
from gantune.checkpoints.safetensors_file import write_safetensors
from gantune.quality.efficientnet_lite import open_efficientnet
from gantune.quality.features import FeatureNetwork
from gantune.quality.frechet import frechet_distance
from gantune.quality.moments import Moments
from gantune.quality.pixels import pixels_from_output
from gantune.quality.precision_recall import manifold_scores
from gantune.records.interface import OutputSpec
from gantune.training.batches import seed_generator
from gantune.training.dataset import ImageDataset

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
BATCH = 100
NEIGHBORS = 3

Embed = Callable[[Tensor], Tensor]


def read_images(dataset: ImageDataset, count: int) -> tuple[Tensor, Tensor]:
    order = torch.randperm(dataset.num_stored, generator=seed_generator(0, 31))[:count].tolist()
    parts = [dataset[order[start : start + BATCH]] for start in range(0, len(order), BATCH)]
    images = torch.cat([pixels for pixels, _ in parts]).float() / 127.5 - 1
    return images, torch.cat([labels for _, labels in parts])


@torch.no_grad()
def generate(generator: nn.Module, labels: Tensor, *, seed: int) -> Tensor:
    z = torch.randn(len(labels), int(generator.z_dim), generator=seed_generator(seed, 32))
    parts = []
    for start in range(0, len(z), BATCH):
        c = labels[start : start + BATCH]
        parts.append(generator(z[start : start + BATCH], c if c.shape[1] else None))
    return as_pictures(torch.cat(parts))


def as_pictures(images: Tensor) -> Tensor:
    """Bring [-1, 1] to the 256 values that a picture file can hold, what lies outside included."""
    return ((images.clamp(-1, 1) + 1) * 127.5).round() / 127.5 - 1


def train_classifier(images: Tensor, labels: Tensor, *, num_epochs: int = 3) -> nn.Module:
    torch.manual_seed(0)
    layers = [
        *(nn.Conv2d(images.shape[1], 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(48, 96, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Dropout(0.2), nn.LazyLinear(labels.shape[1])),
    ]
    classifier = nn.Sequential(*layers)
    classifier(images[:2])
    steps = num_epochs * (len(images) // 128)
    optimizer = torch.optim.Adam(classifier.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=steps)
    for _ in range(steps):
        chosen = torch.randint(len(images), (128,))
        optimizer.zero_grad()
        F.cross_entropy(classifier(images[chosen]), labels[chosen]).backward()
        optimizer.step()
        schedule.step()
    return classifier.eval()


@torch.no_grad()
def accuracy(classifier: nn.Module, images: Tensor, labels: Tensor) -> float:
    parts = [classifier(part).argmax(1) for part in images.split(1000)]
    return float((torch.cat(parts) == labels.argmax(1)).float().mean())


def features_of(network: FeatureNetwork, images: Tensor) -> Tensor:
    output = OutputSpec(channels=images.shape[1])
    parts = [
        network.extract(pixels_from_output(part.numpy(), output)).features for part in images.split(BATCH)
    ]
    return torch.cat(parts)


def judge(generator: nn.Module, data: Path, *, count: int, num_features: int) -> dict[str, object]:
    """Return the figures: agreement of a classifier, recall and Fréchet distance beside their yardsticks."""
    is_conditional = int(generator.c_dim) > 0
    train = ImageDataset(data, use_labels=is_conditional)
    images, labels = read_images(train, train.num_stored if is_conditional else 2 * num_features)
    asked = train.labels[torch.randint(train.num_stored, (count,), generator=seed_generator(0, 33))]
    fakes = generate(generator, asked, seed=0)
    figures: dict[str, object] = {}
    test_path = data.with_name(f"{data.stem}-test.zip")
    others, other_labels = images[num_features:], labels
    if test_path.exists():
        others, other_labels = read_images(ImageDataset(test_path, use_labels=is_conditional), 10**9)
    sets = (images[:num_features], fakes[:num_features], others[:num_features])
    if is_conditional:
        classifier = train_classifier(images, labels)
        figures["classifier_test_accuracy"] = accuracy(classifier, others, other_labels)
        figures["classes_as_asked"] = accuracy(classifier, fakes, asked)
        figures["classes_as_asked_samples"] = count
        before_last = torch.no_grad()(lambda part: torch.cat([classifier[:-1](x) for x in part.split(BATCH)]))
        figures |= score_features(before_last, *sets, suffix="_by_the_classifier")
    network = open_efficientnet()
    figures |= {"features": network.name, "feature_samples": num_features, "neighbors": NEIGHBORS}
    return figures | score_features(lambda part: features_of(network, part), *sets, suffix="")


def score_features(
    embed: Embed, real: Tensor, fake: Tensor, others: Tensor, *, suffix: str
) -> dict[str, float]:
    """Return the figures of the fakes and, as yardsticks, of other images (where enough) and of noise."""
    noise = torch.rand(real.shape, generator=seed_generator(0, 34)) * 2 - 1
    sets = {"": fake, "_of_noise": noise}
    if len(others) == len(real):
        sets["_of_other_images"] = others
    features = embed(real)
    figures = {}
    for name, part in sets.items():
        found = embed(part)
        scores = manifold_scores(features, found, num_neighbors=NEIGHBORS)
        figures[f"precision{name}{suffix}"] = scores.precision
        figures[f"recall{name}{suffix}"] = scores.recall
        figures[f"frechet{name}{suffix}"] = distance(features, found)
    return figures


def distance(a: Tensor, b: Tensor) -> float:
    return float(frechet_distance(Moments.of(a), Moments.of(b)).value)


def ship(snapshot: Path, out: Path) -> None:
    """Write the averaged generator, the generator and the discriminator of `snapshot` in float16."""
    content = read_content(snapshot)
    networks = {role: in_half(network) for role, network in content.networks.items()}
    write_safetensors(CheckpointContent("gantune-training", networks), out, overwrite=True)


def in_half(network: NetworkContent) -> NetworkContent:
    state = {name: item.half() if item.is_floating_point() else item for name, item in network.state.items()}
    return NetworkContent(network.family, network.config, state)


def data_wait_share(run: Path) -> float:
    """Return how much of the step time a run waited for data."""
    lines = [json.loads(line) for line in (run / "training_stats.jsonl").read_text().splitlines()]
    waited, stepped = (
        sum(line[name]["mean"] * line[name]["num"] for line in lines) for name in ("ms/data_wait", "ms/step")
    )
    return float(waited / stepped)


def list_changes(run: Path) -> list[object]:
    """Return what was changed about the recipe on the way, with the images seen until then."""
    path = run / "recipe_changes.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("--samples", type=int, default=10_000, help="images the classifier is asked about")
    parser.add_argument("--features", type=int, default=10_000, help="images the features are taken of")
    arguments = parser.parse_args()
    options = json.loads((arguments.run / "training_options.json").read_text())
    snapshot = max(arguments.run.glob("network-snapshot-*.safetensors"))
    SAMPLES.mkdir(exist_ok=True)
    out = SAMPLES / f"{arguments.name}.safetensors"
    ship(snapshot, out)
    picture = snapshot.with_name(snapshot.stem.replace("network-snapshot-", "fakes") + ".png")
    shutil.copyfile(picture, out.with_suffix(".png"))
    # What ships is what is judged: the float16 weights, read back.
    generator = load_checkpoint(out).generator
    figures = judge(
        generator, Path(options["data"]), count=arguments.samples, num_features=arguments.features
    )
    facts = {"kimg": int(snapshot.stem.rpartition("-")[2]), "size_bytes": out.stat().st_size}
    figures = facts | figures | {"data_wait_share": data_wait_share(arguments.run)}
    card = {
        "figures": figures,
        "data": options["data"],
        "recipe": options["recipe"],
        "recipe_changes": list_changes(arguments.run),
        "speed": options["speed"],
    }
    out.with_suffix(".json").write_text(json.dumps(card, indent=2) + "\n")
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
