"""BigGAN: the class-conditional generator, plain or with hierarchical latents."""

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gantune.networks.biggan_layers import (
    ConditionalNorm,
    SelfAttention,
    build_output_layer,
    check_attention,
    embed_classes,
    list_latent_and_class,
)
from gantune.networks.contract import Config, sample_tensors
from gantune.networks.spectral_norm import SpectralConv2d, SpectralLinear
from gantune.records.interface import InputSpec, OutputSpec


class BigGANGenerator(nn.Module):
    """Draw an image of class y from the latent z: residual blocks, each of which doubles the resolution.

    Block i goes from `widths[i]` to `widths[i + 1]` channels; attention follows the blocks in
    `attention_blocks`. With `hierarchical`, z is cut into one part for the first layer and one a block, and
    a block's normalization sees its part beside the class embedding. Parameters carry ajbrock's names.
    Source: Brock et al., arXiv 1809.11096, appendix B, table 4 to 6.
    """

    family = "biggan"

    def __init__(
        self,
        *,
        widths: Sequence[int] = (1536, 1536, 768, 384, 192, 96),
        attention_blocks: Sequence[int] = (3,),
        z_dim: int = 120,
        num_classes: int = 1000,
        shared_dim: int = 128,
        hierarchical: bool = True,
        bottom_width: int = 4,
        img_channels: int = 3,
    ) -> None:
        super().__init__()
        self.config: Config = {
            "widths": list(widths),
            "attention_blocks": list(attention_blocks),
            "z_dim": z_dim,
            "num_classes": num_classes,
            "shared_dim": shared_dim,
            "hierarchical": hierarchical,
            "bottom_width": bottom_width,
            "img_channels": img_channels,
        }
        num_blocks = len(widths) - 1
        check_attention(attention_blocks, num_blocks=num_blocks)
        self.z_dim, self.num_classes, self.img_channels = z_dim, num_classes, img_channels
        self.hierarchical, self.bottom_width = hierarchical, bottom_width
        self.part_dim = z_dim // (num_blocks + 1) if hierarchical else z_dim
        self.resolution = bottom_width * 2**num_blocks
        self.shared = nn.Embedding(num_classes, shared_dim)
        self.linear = SpectralLinear(self.part_dim, widths[0] * bottom_width**2)
        condition_width = shared_dim + (self.part_dim if hierarchical else 0)
        self.blocks = nn.ModuleList(
            nn.ModuleList([BigGANBlock(width_in, width_out, condition_width)])
            for width_in, width_out in pairwise(widths)
        )
        for position in attention_blocks:
            stage = self.blocks[position]
            assert isinstance(stage, nn.ModuleList)
            stage.append(SelfAttention(widths[position + 1]))
        self.output_layer = build_output_layer(widths[-1], img_channels)

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """List the inputs `z` [N, z_dim] and `y` [N], a class index (`forward` also takes one-hot)."""
        return list_latent_and_class(self.z_dim, self.num_classes)

    @property
    def output(self) -> OutputSpec:
        """Describe the image [N, img_channels, resolution, resolution] in [-1, 1]."""
        return OutputSpec(kind="image", channels=self.img_channels, low=-1.0, high=1.0)

    def sample_inputs(self, n: int, seed: int) -> dict[str, Tensor]:
        """Draw `n` latents and classes."""
        return sample_tensors(self.inputs, n, seed)

    def forward(self, z: Tensor, y: Tensor) -> Tensor:
        """Return the images of latents `z` [N, z_dim] and classes `y`, which it embeds itself."""
        first, conditions = self._split_latent(z, embed_classes(self.shared, y))
        x = self.linear(first).unflatten(1, (-1, self.bottom_width, self.bottom_width))
        for stage, condition in zip(self.blocks, conditions, strict=True):
            assert isinstance(stage, nn.ModuleList)
            x = stage[0](x, condition)
            for attention in stage[1:]:
                x = attention(x)
        return torch.tanh(self.output_layer(x))

    def _split_latent(self, z: Tensor, embedded: Tensor) -> tuple[Tensor, list[Tensor]]:
        if not self.hierarchical:
            return z, [embedded] * len(self.blocks)
        first, *parts = torch.split(z, self.part_dim, dim=1)
        return first, [torch.cat([embedded, part], dim=1) for part in parts]


class BigGANBlock(nn.Module):
    """Double the resolution by two 3×3 convolutions, each after normalization and ReLU, beside a 1×1 path."""

    def __init__(self, width_in: int, width_out: int, condition_width: int) -> None:
        super().__init__()
        self.conv1 = SpectralConv2d(width_in, width_out, 3, padding=1)
        self.conv2 = SpectralConv2d(width_out, width_out, 3, padding=1)
        self.conv_sc = SpectralConv2d(width_in, width_out, 1)
        self.bn1 = ConditionalNorm(width_in, condition_width)
        self.bn2 = ConditionalNorm(width_out, condition_width)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """Return [N, width_out, 2H, 2W] for `x` [N, width_in, H, W]."""
        hidden = F.relu(self.bn1(x, condition))
        hidden = self.conv1(F.interpolate(hidden, scale_factor=2.0, mode="nearest"))
        hidden = self.conv2(F.relu(self.bn2(hidden, condition)))
        result: Tensor = hidden + self.conv_sc(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return result
