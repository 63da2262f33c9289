"""BigGAN-deep: the generator with bottleneck blocks and the whole latent in every normalization."""

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gantune.errors import UsageError
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


class BigGANDeepGenerator(nn.Module):
    """Draw an image of class y from the latent z: `depth` bottleneck blocks a resolution, the last doubling.

    Block i goes from `widths[i]` to `widths[i + 1]` channels through a bottleneck of `widths[i] //
    bottleneck`; attention follows the blocks in `attention_blocks`. The condition is the class embedding
    followed by z, for the first layer and every block; without `hierarchical` the first layer sees z, the
    blocks the embedding. Parameters carry ajbrock's names.
    Source: Brock et al., arXiv 1809.11096, appendix B, table 7 to 9, figure 16.
    """

    family = "biggan_deep"

    def __init__(
        self,
        *,
        widths: Sequence[int] = (2048, 2048, 2048, 2048, 1024, 1024, 512, 512, 256, 256, 128),
        attention_blocks: Sequence[int] = (7,),
        depth: int = 2,
        bottleneck: int = 4,
        z_dim: int = 128,
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
            "depth": depth,
            "bottleneck": bottleneck,
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
        self.resolution = bottom_width * 2 ** (num_blocks // depth)
        self.shared = nn.Embedding(num_classes, shared_dim)
        self.linear = SpectralLinear(z_dim + (shared_dim if hierarchical else 0), widths[0] * bottom_width**2)
        condition_width = shared_dim + (z_dim if hierarchical else 0)
        self.blocks = nn.ModuleList()
        for position, (width_in, width_out) in enumerate(pairwise(widths)):
            doubles = (position + 1) % depth == 0
            block = BottleneckBlock(
                width_in, width_out, condition_width, bottleneck=bottleneck, doubles=doubles
            )
            attention = [SelfAttention(width_out)] if position in attention_blocks else []
            self.blocks.append(nn.ModuleList([block, *attention]))
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
        embedded = embed_classes(self.shared, y)
        joined = torch.cat([embedded, z], dim=1)
        first, condition = (joined, joined) if self.hierarchical else (z, embedded)
        x = self.linear(first).unflatten(1, (-1, self.bottom_width, self.bottom_width))
        for stage in self.blocks:
            assert isinstance(stage, nn.ModuleList)
            x = stage[0](x, condition)
            for attention in stage[1:]:
                x = attention(x)
        return torch.tanh(self.output_layer(x))


class BottleneckBlock(nn.Module):
    """Convolve 1×1, 3×3, 3×3, 1×1, each after normalization and ReLU, beside a skip without parameters.

    The skip keeps the first `width_out` channels. A block that `doubles` enlarges before its first 3×3.
    """

    def __init__(
        self, width_in: int, width_out: int, condition_width: int, *, bottleneck: int, doubles: bool
    ) -> None:
        super().__init__()
        if not 1 <= bottleneck <= width_in:
            raise UsageError(
                f"A bottleneck of {width_in} // {bottleneck} channels is none; allowed: 1 to {width_in}."
            )
        self.width_out = width_out
        self.doubles = doubles
        hidden = width_in // bottleneck
        self.conv1 = SpectralConv2d(width_in, hidden, 1)
        self.conv2 = SpectralConv2d(hidden, hidden, 3, padding=1)
        self.conv3 = SpectralConv2d(hidden, hidden, 3, padding=1)
        self.conv4 = SpectralConv2d(hidden, width_out, 1)
        self.bn1 = ConditionalNorm(width_in, condition_width)
        self.bn2 = ConditionalNorm(hidden, condition_width)
        self.bn3 = ConditionalNorm(hidden, condition_width)
        self.bn4 = ConditionalNorm(hidden, condition_width)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """Return [N, width_out, H, W], or twice the size where the block doubles."""
        hidden = self.conv1(F.relu(self.bn1(x, condition)))
        hidden = F.relu(self.bn2(hidden, condition))
        skip = x[:, : self.width_out]
        if self.doubles:
            hidden = F.interpolate(hidden, scale_factor=2.0, mode="nearest")
            skip = F.interpolate(skip, scale_factor=2.0, mode="nearest")
        hidden = self.conv2(hidden)
        hidden = self.conv3(F.relu(self.bn3(hidden, condition)))
        result: Tensor = self.conv4(F.relu(self.bn4(hidden, condition))) + skip
        return result
