"""Show what precision and recall say of real pictures, whole and damaged on purpose.

    python scripts/judge_damage.py [--features 1000]

compares Fashion-MNIST's test pictures with its training pictures, as `make_sample.py` does with generated
ones, on EfficientNet-Lite0 and on the classifier before its last layer. Data:
`python scripts/fetch_training_data.py`.
"""

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from make_sample import BATCH, as_pictures, distance, features_of, read_images, train_classifier
from torch import Tensor

from gantune.quality.efficientnet_lite import open_efficientnet
from gantune.quality.precision_recall import manifold_scores
from gantune.training.dataset import ImageDataset

DATA = Path(__file__).resolve().parent.parent / ".cache" / "training" / "fashion-mnist-32.zip"
# One step of 8 bits where values run from -1 to 1.
STEP = 2 / 255


def damage(images: Tensor, labels: Tensor, count: int) -> dict[str, Tensor]:
    """Return `count` images each, of all test images [N, 1, H, W] and their one-hot labels."""
    whole = images[:count]
    noise = torch.randn(whole.shape, generator=torch.Generator().manual_seed(1))
    height, width = whole.shape[2:]
    board = (torch.arange(height)[:, None] + torch.arange(width)) % 2 * 2 - 1
    sets = {"test pictures": whole, "background -0.98 in place of -1": whole.clamp(min=-0.98)}
    sets |= {f"normal noise of {size}/255": whole + noise * size * STEP for size in (1, 3, 12)}
    sets["checkerboard of 8/255 on the garment"] = whole + 0.06 * board * (whole > -0.95)
    sets |= {f"blurred by ({side}, …, {side})": blur(whole, side) for side in (0.05, 0.15, 0.25)}
    sets["five of ten classes"] = images[labels.argmax(1) < 5][:count]
    sets["a tenth of the pictures, ten times each"] = images[: count // 10].repeat(10, 1, 1, 1)
    return {name: as_pictures(item) for name, item in sets.items()}


def blur(images: Tensor, side: float) -> Tensor:
    row = torch.tensor([side, 1 - 2 * side, side])
    padded = F.pad(images, (1, 1, 1, 1), value=-1)
    return F.conv2d(F.conv2d(padded, row.view(1, 1, 3, 1)), row.view(1, 1, 1, 3))


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=1000, help="images the features are taken of")
    count = parser.parse_args().features
    images, labels = read_images(ImageDataset(DATA, use_labels=True), 10**9)
    test = ImageDataset(DATA.with_name(f"{DATA.stem}-test.zip"), use_labels=True)
    with torch.enable_grad():
        classifier = train_classifier(images, labels)
    network = open_efficientnet()
    embeddings = {
        "EfficientNet-Lite0": lambda part: features_of(network, part),
        "classifier": lambda part: torch.cat([classifier[:-1](x) for x in part.split(BATCH)]),
    }
    real = {name: embed(images[:count]) for name, embed in embeddings.items()}
    for kind, part in damage(*read_images(test, 10**9), count).items():
        for name, embed in embeddings.items():
            found = embed(part)
            scores = manifold_scores(real[name], found)
            figures = f"precision {scores.precision:.2f}  recall {scores.recall:.2f}"
            print(f"{kind:<40} {name:<20} {figures}  Fréchet {distance(real[name], found):.1f}", flush=True)


if __name__ == "__main__":
    main()
