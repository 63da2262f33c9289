"""The DCGAN discriminator: strided convolutions with batch normalization and leaky ReLU."""

from collections.abc import Sequence
from itertools import pairwise

import torch.nn.functional as F
from torch import Tensor, nn

from gantune.networks.batch_statistics import SharedBatchNorm2d
from gantune.networks.contract import Config, sample_tensors
from gantune.networks.projection import LOGITS, ProjectionHead, list_image_and_class

SLOPE = 0.2


class DCGANDiscriminator(nn.Module):
    """Score images [N, C, R, R]: every layer halves the resolution, to `widths[i]` channels.

    The first layer is not normalized. Radford et al., arXiv 1511.06434; with classes, the logit gains the
    projection on the class of arXiv 1802.05637.
    """

    family = "dcgan"
    output = LOGITS

    def __init__(
        self, *, resolution: int, widths: Sequence[int], img_channels: int = 3, num_classes: int = 0
    ) -> None:
        super().__init__()
        self.config: Config = {
            "resolution": resolution,
            "widths": list(widths),
            "img_channels": img_channels,
            "num_classes": num_classes,
        }
        self.resolution, self.img_channels, self.num_classes = resolution, img_channels, num_classes
        self.inputs = list_image_and_class(img_channels, resolution, num_classes)
        self.convs = nn.ModuleList(
            nn.Conv2d(width_in, width_out, 4, stride=2, padding=1, bias=index == 0)
            for index, (width_in, width_out) in enumerate(pairwise([img_channels, *widths]))
        )
        self.norms = nn.ModuleList(SharedBatchNorm2d(width) for width in widths[1:])
        size = resolution // 2 ** len(widths)
        self.head = ProjectionHead(widths[-1] * size**2, num_classes, is_spectral=False)

    def sample_inputs(self, n: int, seed: int) -> dict[str, Tensor]:
        """Draw `n` images, and classes where there are any."""
        return sample_tensors(self.inputs, n, seed)

    def forward(self, image: Tensor, y: Tensor | None = None) -> Tensor:
        """Return the logits [N, 1] of images; `y` holds class indices [N] or one-hot classes."""
        x = F.leaky_relu(self.convs[0](image), SLOPE)
        for conv, norm in zip(self.convs[1:], self.norms, strict=True):
            x = F.leaky_relu(norm(conv(x)), SLOPE)
        logits: Tensor = self.head(x.flatten(1), y)
        return logits
