import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.errors import UsageError
from gantune.networks.catalogue import build_network


def reflect(x: Tensor, size: int) -> Tensor:
    return F.pad(x, [size] * 4, mode="reflect")


def normalize(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Normalize every channel of every image by itself, from the definition."""
    mean = x.mean(dim=(2, 3), keepdim=True)
    variance = ((x - mean) ** 2).mean(dim=(2, 3), keepdim=True)
    return (x - mean) / (variance + 1e-5).sqrt() * scale[:, None, None] + shift[:, None, None]


def translate(x: Tensor, state: dict[str, Tensor], num_block: int) -> Tensor:
    """Write the paper's generator (c7s1-k, d2k, d4k, R4k …, u2k, uk, c7s1-3) with functions alone."""

    def weight(name: str) -> tuple[Tensor, Tensor]:
        return state[f"model.{name}.weight"], state[f"model.{name}.bias"]

    x = F.relu(normalize(F.conv2d(reflect(x, 3), *weight("1")), *weight("2")))
    for place in (4, 7):
        x = F.conv2d(x, *weight(str(place)), stride=2, padding=1)
        x = F.relu(normalize(x, *weight(str(place + 1))))
    for block in range(10, 10 + num_block):
        inner = f"{block}.conv_block"
        y = F.relu(normalize(F.conv2d(reflect(x, 1), *weight(f"{inner}.1")), *weight(f"{inner}.2")))
        x = x + normalize(F.conv2d(reflect(y, 1), *weight(f"{inner}.5")), *weight(f"{inner}.6"))
    for place in (10 + num_block, 13 + num_block):
        x = F.conv_transpose2d(x, *weight(str(place)), stride=2, padding=1, output_padding=1)
        x = F.relu(normalize(x, *weight(str(place + 1))))
    return F.conv2d(reflect(x, 3), *weight(str(17 + num_block))).tanh()


@pytest.mark.parametrize("num_block", [1, 3])
def test_the_layers_are_those_of_the_paper(num_block: int) -> None:
    torch.manual_seed(num_block)
    network = build_network("cyclegan", {"num_feat": 4, "num_block": num_block, "norm": "instance_affine"})
    for tensor in network.state_dict().values():
        tensor.add_(torch.randn_like(tensor) * 0.2)
    image = torch.rand(2, 3, 20, 28) * 2 - 1
    with torch.inference_mode():
        expected = translate(image, dict(network.state_dict()), num_block)
        found = network(image)
    assert found.shape == (2, 3, 20, 28)
    assert torch.allclose(found, expected, atol=1e-5)


def test_sizes_that_are_no_multiple_of_four_are_rounded_up() -> None:
    network = build_network("cyclegan", {"num_feat": 4, "num_block": 1})
    assert network(torch.zeros(1, 3, 17, 22)).shape == (1, 3, 20, 24)


def test_an_unknown_norm_is_refused() -> None:
    with pytest.raises(UsageError, match="no CycleGAN norm 'layer'"):
        build_network("cyclegan", {"norm": "layer"})
