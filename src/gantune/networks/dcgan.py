"""DCGAN: the plain generator of transposed convolutions, with or without a class."""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.networks.batch_statistics import SharedBatchNorm2d
from gantune.networks.contract import Config, sample_tensors
from gantune.networks.options import plain_values, read_options
from gantune.records.interface import InputSpec, OutputSpec


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class DCGANLayerOptions:
    """Choose one layer: a convolution (transposed unless told), then normalization, ReLU and dropout.

    `dropout` is the rate in training; it does nothing in eval mode.
    """

    width: int = Field(ge=1)
    kernel: int = Field(default=4, ge=1)
    stride: int = Field(default=2, ge=1)
    padding: int = Field(default=1, ge=0)
    output_padding: int = Field(default=0, ge=0)
    transposed: bool = True
    bias: bool = False
    norm: bool = True
    dropout: float = Field(default=0.0, ge=0.0, lt=1.0)


class DCGANGenerator(nn.Module):
    """Draw an image from the latent z, and the class y where `num_classes` is above 0.

    `layers` holds the keywords of `DCGANLayerOptions` for each layer; the last one gives the image and is
    followed by tanh. The class enters after the latent: one-hot, or as `embedding_dim` embedded values.
    Source: Radford et al., arXiv 1511.06434.
    """

    family = "dcgan"

    def __init__(
        self,
        *,
        layers: Sequence[Mapping[str, object]],
        z_dim: int = 100,
        num_classes: int = 0,
        embedding_dim: int = 0,
    ) -> None:
        super().__init__()
        options = [read_options(DCGANLayerOptions, layer, what="A DCGAN layer") for layer in layers]
        self.config: Config = {
            "layers": [plain_values(layer) for layer in options],
            "z_dim": z_dim,
            "num_classes": num_classes,
            "embedding_dim": embedding_dim,
        }
        self.z_dim, self.num_classes = z_dim, num_classes
        self.img_channels = options[-1].width
        self.embedding = nn.Embedding(num_classes, embedding_dim) if embedding_dim else None
        widths = [z_dim + (embedding_dim or num_classes), *(layer.width for layer in options)]
        self.layers = nn.ModuleList(
            DCGANLayer(width_in, layer, is_last=layer is options[-1])
            for width_in, layer in zip(widths, options, strict=False)
        )

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """List `z` [N, z_dim] and, with classes, `y` [N], a class index (`forward` also takes one-hot)."""
        latent = InputSpec(name="z", kind="latent", shape=("N", self.z_dim))
        if not self.num_classes:
            return (latent,)
        high = self.num_classes - 1
        return (latent, InputSpec(name="y", kind="class", shape=("N",), dtype="int64", low=0, high=high))

    @property
    def output(self) -> OutputSpec:
        """Describe the image [N, img_channels, H, W] in [-1, 1]."""
        return OutputSpec(kind="image", channels=self.img_channels, low=-1.0, high=1.0)

    def sample_inputs(self, n: int, seed: int) -> dict[str, Tensor]:
        """Draw `n` latents, and classes where there are any."""
        return sample_tensors(self.inputs, n, seed)

    def forward(self, z: Tensor, y: Tensor | None = None) -> Tensor:
        """Return the images of latents `z` [N, z_dim] (or [N, z_dim, 1, 1]) and classes `y`.

        Raise `UsageError` where a class is missing or not wanted.
        """
        x = z.flatten(1)
        if (y is None) != (self.num_classes == 0):
            wanted = f"classes y below {self.num_classes}" if self.num_classes else "no classes y"
            raise UsageError(f"This DCGAN takes {wanted}; y is {'missing' if y is None else 'given'}.")
        if y is not None:
            x = torch.cat([x, self._encode_classes(y)], dim=1)
        x = x[:, :, None, None]
        for layer in self.layers:
            x = layer(x)
        return x

    def _encode_classes(self, y: Tensor) -> Tensor:
        if y.dim() == 1 and not y.is_floating_point():
            y = F.one_hot(y, self.num_classes)
        if y.dim() != 2 or y.shape[1] != self.num_classes:
            raise UsageError(
                f"y has shape {tuple(y.shape)}; it must be class indices [N] (int64) or one-hot classes "
                f"[N, {self.num_classes}]."
            )
        one_hot = y.to(torch.float32)
        return one_hot if self.embedding is None else one_hot @ self.embedding.weight


class DCGANLayer(nn.Module):
    """Convolve [N, C, H, W], then normalize, rectify and drop out; the last layer ends in tanh."""

    def __init__(self, width_in: int, options: DCGANLayerOptions, *, is_last: bool) -> None:
        super().__init__()
        shape = (width_in, options.width, options.kernel, options.stride, options.padding)
        self.conv: nn.Module
        if options.transposed:
            self.conv = nn.ConvTranspose2d(*shape, output_padding=options.output_padding, bias=options.bias)
        else:
            self.conv = nn.Conv2d(*shape, bias=options.bias)
        self.norm = SharedBatchNorm2d(options.width) if options.norm else None
        self.activation = nn.Tanh() if is_last else nn.ReLU()
        self.dropout = nn.Dropout(options.dropout) if options.dropout else None

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer."""
        x = self.conv(x)
        if self.norm is not None:
            x = self.norm(x)
        x = self.activation(x)
        return x if self.dropout is None else self.dropout(x)
