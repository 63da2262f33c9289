"""The BigGAN discriminator: residual blocks halve the image; a projection of the class joins the logit."""

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gantune.networks.biggan_layers import SelfAttention, check_attention
from gantune.networks.contract import Config, sample_tensors
from gantune.networks.projection import LOGITS, ProjectionHead, list_image_and_class
from gantune.networks.spectral_norm import SpectralConv2d


class BigGANDiscriminator(nn.Module):
    """Score images [N, C, R, R] of classes y: block i goes from `widths[i]` to `widths[i + 1]` channels.

    All blocks but the last halve the resolution; attention follows the blocks in `attention_blocks`.
    Source: Brock et al., arXiv 1809.11096, appendix B; projection: Miyato and Koyama, arXiv 1802.05637.
    """

    family = "biggan"
    output = LOGITS

    def __init__(
        self,
        *,
        resolution: int,
        img_channels: int = 3,
        widths: Sequence[int] = (96, 192, 384, 768, 1536, 1536),
        attention_blocks: Sequence[int] = (0,),
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        self.config: Config = {
            "resolution": resolution,
            "img_channels": img_channels,
            "widths": list(widths),
            "attention_blocks": list(attention_blocks),
            "num_classes": num_classes,
        }
        self.resolution, self.img_channels, self.num_classes = resolution, img_channels, num_classes
        self.inputs = list_image_and_class(img_channels, resolution, num_classes)
        check_attention(attention_blocks, num_blocks=len(widths))
        steps = list(pairwise([img_channels, *widths]))
        self.blocks = nn.ModuleList(
            nn.ModuleList([ResidualBlock(*pair, is_first=index == 0, halves=index < len(steps) - 1)])
            for index, pair in enumerate(steps)
        )
        for position in attention_blocks:
            stage = self.blocks[position]
            assert isinstance(stage, nn.ModuleList)
            stage.append(SelfAttention(steps[position][1]))
        self.head = ProjectionHead(widths[-1], num_classes, is_spectral=True)

    def sample_inputs(self, n: int, seed: int) -> dict[str, Tensor]:
        """Draw `n` images, and classes where there are any."""
        return sample_tensors(self.inputs, n, seed)

    def forward(self, image: Tensor, y: Tensor | None = None) -> Tensor:
        """Return the logits [N, 1] of images; `y` holds class indices [N] or one-hot classes."""
        x = image
        for stage in self.blocks:
            assert isinstance(stage, nn.ModuleList)
            for layer in stage:
                x = layer(x)
        logits: Tensor = self.head(torch.relu(x).sum(dim=(2, 3)), y)
        return logits


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions beside a 1×1 path, averaged down by 2 where it `halves`."""

    def __init__(self, width_in: int, width_out: int, *, is_first: bool, halves: bool) -> None:
        super().__init__()
        self.is_first, self.halves = is_first, halves
        self.conv1 = SpectralConv2d(width_in, width_out, 3, padding=1)
        self.conv2 = SpectralConv2d(width_out, width_out, 3, padding=1)
        self.conv_sc = SpectralConv2d(width_in, width_out, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return [N, width_out, H, W], or half of H and W."""
        # An image is not rectified.
        hidden = self.conv1(x if self.is_first else F.relu(x))
        hidden = self._shrink(self.conv2(F.relu(hidden)))
        result: Tensor = hidden + self.conv_sc(self._shrink(x))
        return result

    def _shrink(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(x, 2) if self.halves else x
