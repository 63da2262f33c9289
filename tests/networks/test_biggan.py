from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from gantune.checkpoints import load
from gantune.errors import UsageError
from gantune.networks.biggan import BigGANGenerator

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = ("biggan-32", "biggan-64-hier")


def load_golden(name: str) -> tuple[BigGANGenerator, dict[str, Tensor]]:
    network = load(GOLDEN / f"{name}.pth")
    assert isinstance(network, BigGANGenerator)
    return network, load_file(GOLDEN / f"{name}.safetensors")


def assert_exact(found: Tensor, expected: Tensor) -> None:
    assert found.shape == expected.shape
    assert (found - expected).abs().max() <= 1e-4 * max(1.0, float(expected.abs().max()))


@pytest.mark.parametrize("name", NAMES)
def test_golden_images_are_matched(name: str) -> None:
    network, golden = load_golden(name)
    assert_exact(network(golden["z"], golden["y"]), golden["img"])


@pytest.mark.parametrize("name", NAMES)
def test_one_hot_classes_give_the_image_of_their_index(name: str) -> None:
    network, golden = load_golden(name)
    one_hot = torch.nn.functional.one_hot(golden["y"], network.num_classes)
    assert_exact(network(golden["z"], one_hot.float()), golden["img"])
    assert_exact(network(golden["z"], one_hot), golden["img"])


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_does_not_depend_on_how_the_batch_is_split(name: str) -> None:
    network, golden = load_golden(name)
    z, y = golden["z"], golden["y"]
    whole = network(z, y)
    for parts in ([1, 3], [2, 2], [1, 1, 1, 1]):
        split = [network(*pair) for pair in zip(z.split(parts), y.split(parts), strict=True)]
        assert_exact(torch.cat(split), whole)


def test_the_class_changes_the_image() -> None:
    network, golden = load_golden("biggan-32")
    other = network(golden["z"], (golden["y"] + 1) % 5)
    assert (other - golden["img"]).abs().max() > 0.1


def test_an_embedding_in_place_of_the_class_is_refused() -> None:
    network, golden = load_golden("biggan-32")
    with pytest.raises(UsageError, match=r"one-hot classes \[N, 5\]"):
        network(golden["z"], network.shared(golden["y"]))


def test_inputs_are_described_and_drawn_one_seed_a_sample() -> None:
    network, _ = load_golden("biggan-64-hier")
    assert [(spec.name, spec.kind) for spec in network.inputs] == [("z", "latent"), ("y", "class")]
    one, three = network.sample_inputs(1, 7), network.sample_inputs(3, 7)
    assert three["z"].shape == (3, 40)
    assert three["y"].dtype == torch.int64
    assert all(torch.equal(one[name], three[name][:1]) for name in one)
