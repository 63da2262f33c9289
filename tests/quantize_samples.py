"""Small networks of one dense layer, and ways to run what is made of them."""

import torch
from torch import Tensor, nn

from gantune.records.interface import InputSpec, OutputSpec
from gantune.transforms.quantize import Calibration, LayerBits, QuantizeOptions, calibrate, quantize

INTEGERS = LayerBits(8, 8)


class OneLayer(nn.Module):
    """A network whose one layer is given."""

    family = "one_layer"
    output = OutputSpec(channels=6, low=-4.0, high=4.0)

    def __init__(self, layer: nn.Module, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.config: dict[str, object] = {}
        self.layer = layer
        self.inputs = (InputSpec(name="z", kind="latent", shape=("N", *shape)),)
        self.eval().requires_grad_(False)

    def forward(self, z: Tensor) -> Tensor:
        return self.layer(z)

    def sample_inputs(self, n: int, seed: int) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(seed)
        return {"z": torch.randn(n, *map(int, self.inputs[0].shape[1:]), generator=generator)}


LAYERS = {
    "convolution": lambda: OneLayer(nn.Conv2d(8, 6, 3, padding=1), (8, 12, 12)),
    "strided": lambda: OneLayer(nn.Conv2d(8, 6, 3, stride=2, padding=1, bias=False), (8, 12, 12)),
    "depthwise": lambda: OneLayer(nn.Conv2d(8, 8, 3, padding=1, groups=8), (8, 12, 12)),
    "linear": lambda: OneLayer(nn.Linear(32, 16), (32,)),
    "transposed": lambda: OneLayer(nn.ConvTranspose2d(8, 6, 4, stride=2, padding=1), (8, 12, 12)),
    "transposed_groups_2": lambda: OneLayer(
        nn.ConvTranspose2d(8, 6, 4, stride=2, padding=1, groups=2), (8, 12, 12)
    ),
}


def calibrated(network: OneLayer) -> Calibration:
    """Calibrate on 16 samples."""
    return calibrate(network, [network.sample_inputs(8, seed) for seed in (0, 1)])


def quantized(network: OneLayer, **options: object) -> OneLayer:
    """Quantize the one layer, which the default would keep high or not, with integers."""
    calibration = calibrated(network)
    bits = dict.fromkeys(calibration.layers, INTEGERS)
    return quantize(network, calibration, QuantizeOptions(bits=bits, **options))  # type: ignore[arg-type]
