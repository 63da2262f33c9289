from pathlib import Path

import pytest
import torch
from torch import Tensor

from gantune.checkpoints import load, load_checkpoint
from gantune.errors import CheckpointError
from gantune.networks.catalogue import build_network
from gantune.networks.contract import Config

GOLDEN = Path(__file__).parents[1] / "golden"


def save(folder: Path, content: object) -> Path:
    path = folder / "G_ema.pth"
    torch.save(content, path)
    return path


def golden_state() -> dict[str, Tensor]:
    state: dict[str, Tensor] = torch.load(GOLDEN / "biggan-64-hier.pth", weights_only=True)
    return state


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("biggan-32", {"z_dim": 32, "hierarchical": False, "attention_blocks": [1]}),
        ("biggan-64-hier", {"z_dim": 40, "hierarchical": True, "attention_blocks": [2]}),
    ],
)
def test_the_configuration_is_inferred(name: str, expected: Config) -> None:
    network = load(GOLDEN / f"{name}.pth")
    assert network.family == "biggan"
    assert expected.items() <= network.config.items()
    assert network.config["num_classes"] == 5
    assert network.resolution == int(name.split("-")[1])


def test_the_metadata_says_which_statistics_are_used() -> None:
    metadata = load_checkpoint(GOLDEN / "biggan-32.pth").metadata
    assert "stored_mean and stored_var" in str(metadata["batch_norm_statistics"])


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("biggan", {"widths": [32, 16, 8], "attention_blocks": [], "hierarchical": False}),
        ("biggan", {"widths": [16, 16, 16, 16, 16, 8, 8], "attention_blocks": [3], "bottom_width": 4}),
        ("biggan", {"widths": [16, 8], "attention_blocks": [], "bottom_width": 6, "img_channels": 1}),
        ("biggan_deep", {"widths": [32, 32, 16, 16, 8], "attention_blocks": [1]}),
        ("biggan_deep", {"widths": [32, 32, 32], "attention_blocks": [], "hierarchical": False}),
        ("biggan_deep", {"widths": [32, 32, 32, 16], "attention_blocks": [], "depth": 3, "bottleneck": 2}),
    ],
)
def test_every_shape_comes_back(tmp_path: Path, family: str, changes: Config) -> None:
    blocks = len(changes["widths"])  # type: ignore[arg-type]
    config: Config = {"z_dim": 4 * blocks, "num_classes": 7, "shared_dim": 9, **changes}
    written = build_network(family, config)
    network = load(save(tmp_path, written.state_dict()))
    assert network.family == family
    assert network.config == written.config
    inputs = written.sample_inputs(2, 0)
    assert torch.equal(network(**inputs), written(**inputs))


def test_the_averaged_generator_is_taken_from_a_dictionary_of_both(tmp_path: Path) -> None:
    averaged = golden_state()
    raw = {name: tensor + 1 for name, tensor in averaged.items()}
    network = load(save(tmp_path, {"G": raw, "G_ema": averaged}))
    assert torch.equal(network.state_dict()["linear.weight"], averaged["linear.weight"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shared.weight": None}, "shared.weight is missing"),
        ({"shared.weight": torch.zeros(3)}, "2 sizes must stand there"),
        ({"linear.weight": torch.zeros(513, 8)}, "32 channels times a square"),
        ({"linear.weight": torch.zeros(512, 9)}, "must agree"),
        ({"blocks.1.0.conv1.weight": None}, "blocks.1.0.conv1.weight is missing"),
        ({"blocks.900.1.gamma": torch.tensor(0.0)}, "blocks.4.0.conv1.weight is missing"),
        ({"blocks.0.1.gamma": torch.tensor(0.0)}, "blocks.0.1.theta.weight, "),
        ({"blocks.3.1.gamma": torch.tensor(0.0)}, "Attention on 4 channels"),
    ],
)
def test_weights_that_fit_no_biggan_are_refused(
    tmp_path: Path, change: dict[str, Tensor | None], message: str
) -> None:
    state = {name: tensor for name, tensor in {**golden_state(), **change}.items() if tensor is not None}
    with pytest.raises(CheckpointError, match=message):
        load(save(tmp_path, state))
