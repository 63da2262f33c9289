"""Which layers of a network can compute with integers, and what there is to know of each."""

from dataclasses import dataclass
from typing import Literal, cast

from torch import Tensor, nn

from gantune.transforms.constant_convolution import ConstantConvolution
from gantune.transforms.up_convolution import UpConvolution

Kind = Literal["convolution", "transposed", "linear"]


@dataclass(frozen=True)
class DenseLayer:
    """One dense layer: the dotted name, its kind, and where its weight has output and input channels."""

    name: str
    kind: Kind
    module: nn.Module

    @property
    def weight(self) -> Tensor:
        """Give the weight, of two or four dimensions."""
        return cast(Tensor, self.module.weight)

    @property
    def groups(self) -> int:
        """Count the groups of channels that do not see each other."""
        return cast(int, getattr(self.module, "groups", 1))

    @property
    def output_axis(self) -> int:
        """Name the weight's axis of output channels; a transposed weight has them second, group by group."""
        return 1 if self.kind == "transposed" else 0

    def count_macs(self, x: Tensor, y: Tensor) -> int:
        """Count the multiply-accumulates of one sample, from the layer's input and output."""
        if self.kind == "transposed":
            return self.weight.numel() * x[0].numel() // x.shape[1]
        return self.weight.numel() * y[0].numel() // self.weight.shape[0]


def find_dense_layers(network: nn.Module) -> dict[str, DenseLayer]:
    """Name every layer with a constant weight: convolutions, transposed ones, linear ones.

    Depthwise filters are left out, and so is StyleGAN's toRGB: too few products to gain, and both set the
    image directly.
    """
    found = (describe_layer(name, module) for name, module in network.named_modules())
    return {layer.name: layer for layer in found if layer is not None}


def describe_layer(name: str, module: nn.Module) -> DenseLayer | None:
    """Describe a module as a dense layer; None where it is none."""
    if isinstance(module, UpConvolution):
        kind: Kind = "convolution" if module.form == "subpixel" else "transposed"
        return DenseLayer(name, kind, module)
    if isinstance(module, nn.ConvTranspose2d):
        return DenseLayer(name, "transposed", module)
    if isinstance(module, ConstantConvolution | nn.Conv2d):
        return DenseLayer(name, "convolution", module)
    if isinstance(module, nn.Linear):
        return DenseLayer(name, "linear", module)
    return None
