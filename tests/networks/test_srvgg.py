import pytest
import torch
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.networks.catalogue import build_network


class Twin(nn.Module):
    """A second writing of the network, with torch's own layers."""

    def __init__(self, width: int, num_conv: int, scale: int, activation: type[nn.Module]) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, width, 3, 1, 1), self._activate(activation, width)]
        for _ in range(num_conv):
            layers += [nn.Conv2d(width, width, 3, 1, 1), self._activate(activation, width)]
        self.body = nn.Sequential(*layers, nn.Conv2d(width, 3 * scale**2, 3, 1, 1))
        self.tail = nn.PixelShuffle(scale)
        self.enlarge = nn.UpsamplingNearest2d(scale_factor=scale)

    @staticmethod
    def _activate(activation: type[nn.Module], width: int) -> nn.Module:
        if activation is nn.PReLU:
            return nn.PReLU(width)
        return nn.LeakyReLU(0.1) if activation is nn.LeakyReLU else nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.tail(self.body(x)) + self.enlarge(x)


@pytest.mark.parametrize("scale", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("activation", "module"), [("prelu", nn.PReLU), ("relu", nn.ReLU), ("leakyrelu", nn.LeakyReLU)]
)
def test_a_plain_torch_twin_gives_the_same_image(
    scale: int, activation: str, module: type[nn.Module]
) -> None:
    torch.manual_seed(scale)
    twin = Twin(8, 2, scale, module)
    network = build_network(
        "srvgg", {"num_feat": 8, "num_conv": 2, "upscale": scale, "activation": activation}
    )
    network.load_state_dict(twin.state_dict())
    image = torch.rand(2, 3, 5, 7)
    with torch.no_grad():
        torch.testing.assert_close(network(image), twin(image), rtol=1e-5, atol=1e-6)


def test_inputs_and_output_are_images_from_0_to_1() -> None:
    network = build_network("srvgg", {"num_feat": 4, "num_conv": 1})
    (spec,) = network.inputs
    assert (spec.name, spec.shape, spec.low, spec.high) == ("image", ("N", 3, "H", "W"), 0.0, 1.0)
    assert (network.output.low, network.output.high) == (0.0, 1.0)
    image = network.sample_inputs(2, 0)["image"]
    assert image.min() >= 0
    assert image.max() <= 1


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(UsageError, match="prelu, relu, leakyrelu"):
        build_network("srvgg", {"activation": "gelu"})
