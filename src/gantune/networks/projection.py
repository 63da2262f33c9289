"""What conditional discriminators share: a logit plus the projection on the class, and the interface."""

import torch.nn.functional as F
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.networks.spectral_norm import SpectralLinear
from gantune.records.interface import InputSpec, OutputSpec

LOGITS = OutputSpec(kind="vector", channels=1)
"""What a discriminator gives: [N, 1]."""


class ProjectionHead(nn.Module):
    """Return w·h + b, and with classes h·V[y] on top (Miyato and Koyama, arXiv 1802.05637, figure 1)."""

    def __init__(self, width: int, num_classes: int, *, is_spectral: bool) -> None:
        super().__init__()
        self.num_classes = num_classes
        layer = SpectralLinear if is_spectral else nn.Linear
        self.linear = layer(width, 1)
        # The embedding V is a layer from one-hot classes to features, so that it can be normalized as others.
        self.embedding = layer(num_classes, width, bias=False) if num_classes else None

    def forward(self, features: Tensor, y: Tensor | None) -> Tensor:
        """Return the logits [N, 1] of features [N, width]; raise `UsageError` for an unfit class."""
        logits: Tensor = self.linear(features)
        if self.embedding is None and y is None:
            return logits
        if self.embedding is None or y is None:
            wanted = f"classes y below {self.num_classes}" if self.num_classes else "no classes y"
            found = "missing" if y is None else "given"
            raise UsageError(f"This discriminator takes {wanted}; y is {found}.")
        one_hot = F.one_hot(y, self.num_classes) if y.dim() == 1 else y
        projected: Tensor = (features * self.embedding(one_hot.to(features.dtype))).sum(dim=1, keepdim=True)
        return logits + projected


def list_image_and_class(img_channels: int, resolution: int, num_classes: int) -> tuple[InputSpec, ...]:
    """List the inputs `image` [N, C, R, R] in [-1, 1] and, with classes, `y` [N], a class index."""
    shape = ("N", img_channels, resolution, resolution)
    image = InputSpec(name="image", kind="image", shape=shape, low=-1.0, high=1.0)
    if not num_classes:
        return (image,)
    return (
        image,
        InputSpec(name="y", kind="class", shape=("N",), dtype="int64", low=0, high=num_classes - 1),
    )
