"""Published networks, where `scripts/fetch_real_inputs.py` has fetched them."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from gantune.checkpoints import load

DEFAULT = Path(__file__).parents[2] / ".cache" / "real"
FOLDER = Path(os.environ.get("GANTUNE_REAL_INPUTS", DEFAULT))

pytestmark = pytest.mark.slow


def fetched(name: str) -> Path:
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"{path} is not there; run scripts/fetch_real_inputs.py")
    return path


@pytest.mark.parametrize(
    ("name", "num_parameters"),
    [
        ("srvgg-x4-animevideo.bin", 621_424),
        ("rrdb-6-x4-anime.param", 4_467_779),
        ("rrdb-23-x4.param", 16_697_987),
    ],
)
def test_real_super_resolution_stays_close_to_the_photograph(name: str, num_parameters: int) -> None:
    network = load(fetched(name))
    assert sum(parameter.numel() for parameter in network.parameters()) == num_parameters
    photograph = Image.open(fetched("china.jpg")).crop((180, 120, 244, 168))
    pixels = torch.from_numpy(np.array(photograph)).permute(2, 0, 1)[None].float() / 255
    enlarged = network(pixels)
    assert enlarged.shape == (1, 3, 192, 256)
    assert torch.isfinite(enlarged).all()
    # Shrunk again, a picture enlarged well is the picture; one with swapped layers or channels is not.
    shrunk = torch.nn.functional.avg_pool2d(enlarged, 4)
    assert (shrunk - pixels).abs().mean() < 0.05


@pytest.mark.parametrize(
    ("name", "num_classes", "size"), [("dcgan-faces-64.tar", 0, 64), ("dcgan-eyes-128.pth", 8, 128)]
)
def test_real_dcgans_draw_varied_images(name: str, num_classes: int, size: int) -> None:
    network = load(fetched(name))
    assert (network.z_dim, network.num_classes) == (100, num_classes)
    images = network(**network.sample_inputs(8, 0))
    assert images.shape == (8, 3, size, size)
    assert torch.isfinite(images).all()
    assert images.std(0).mean() > 0.2


def test_a_real_cyclegan_gives_the_photograph_other_colors() -> None:
    network = load(fetched("cyclegan-resnet-9.pth"))
    assert network.config["num_block"] == 9
    photograph = Image.open(fetched("china.jpg")).crop((180, 120, 308, 248))
    pixels = torch.from_numpy(np.array(photograph)).permute(2, 0, 1)[None].float() / 127.5 - 1
    with torch.inference_mode():
        translated = network(pixels)
    assert translated.shape == pixels.shape
    # The same picture in other tones; swapped layers, borders or norms leave nothing of it.
    both = torch.stack([pixels.mean(1).flatten(), translated.mean(1).flatten()])
    assert torch.corrcoef(both)[0, 1] > 0.9
    assert (translated - pixels).abs().mean() > 0.02
