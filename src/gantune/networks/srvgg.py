"""SRVGG: the compact super-resolution generator of Real-ESRGAN (its animation and general video networks)."""

from itertools import pairwise
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.networks.contract import Config, sample_tensors
from gantune.records.interface import InputSpec, OutputSpec

Activation = Literal["prelu", "relu", "leakyrelu"]


class SRVGGGenerator(nn.Module):
    """Enlarge an image: plain 3×3 convolutions at the input's size, then one pixel shuffle.

    The network predicts what the nearest-neighbor enlargement of its input lacks. `num_conv` counts the
    hidden convolutions between the first and the last; parameters carry the published names (`body.0.…`).
    Source: Wang et al., Real-ESRGAN, arXiv 2107.10833, and its published compact networks.
    """

    family = "srvgg"

    def __init__(
        self,
        *,
        img_channels: int = 3,
        num_feat: int = 64,
        num_conv: int = 16,
        upscale: int = 4,
        activation: Activation = "prelu",
    ) -> None:
        super().__init__()
        self.config: Config = {
            "img_channels": img_channels,
            "num_feat": num_feat,
            "num_conv": num_conv,
            "upscale": upscale,
            "activation": activation,
        }
        self.img_channels = img_channels
        self.upscale = upscale
        widths = [img_channels] + [num_feat] * (num_conv + 1)
        self.body = nn.ModuleList()
        for width_in, width_out in pairwise(widths):
            self.body.append(nn.Conv2d(width_in, width_out, 3, padding=1))
            self.body.append(_build_activation(activation, width_out))
        self.body.append(nn.Conv2d(num_feat, img_channels * upscale**2, 3, padding=1))

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """List the one input: `image` [N, C, H, W] in [0, 1]."""
        shape = ("N", self.img_channels, "H", "W")
        return (InputSpec(name="image", kind="image", shape=shape, low=0.0, high=1.0),)

    @property
    def output(self) -> OutputSpec:
        """Describe the enlarged image [N, C, upscale·H, upscale·W]: made for [0, 1], not clamped to it."""
        return OutputSpec(kind="image", channels=self.img_channels, low=0.0, high=1.0)

    def sample_inputs(self, n: int, seed: int) -> dict[str, Tensor]:
        """Draw `n` smooth random images."""
        return sample_tensors(self.inputs, n, seed)

    def forward(self, image: Tensor) -> Tensor:
        """Enlarge `image` [N, C, H, W] in [0, 1] `upscale` times."""
        features = image
        for layer in self.body:
            features = layer(features)
        detail = F.pixel_shuffle(features, self.upscale)
        return detail + F.interpolate(image, scale_factor=float(self.upscale), mode="nearest")


def _build_activation(activation: str, width: int) -> nn.Module:
    if activation == "prelu":
        return nn.PReLU(width)
    if activation == "relu":
        return nn.ReLU()
    if activation == "leakyrelu":
        return nn.LeakyReLU(0.1)
    raise UsageError(f"There is no SRVGG activation {activation!r}; there are: prelu, relu, leakyrelu.")
