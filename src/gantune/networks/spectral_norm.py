"""Spectrally normalized layers: a stored weight divided by an estimate of its largest singular value."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_EPSILON = 1e-12


def normalize_spectrally(weight: Tensor, u0: Tensor) -> Tensor:
    """Divide `weight` [K, …] by its largest singular value, estimated by one power step from `u0` [1, K].

    Source: Miyato et al., Spectral normalization, arXiv 1802.05957, algorithm 1.
    """
    matrix = weight.flatten(1)
    v = F.normalize(u0 @ matrix, eps=_EPSILON)
    projected = v @ matrix.T
    u = F.normalize(projected, eps=_EPSILON)
    return weight / (projected * u).sum()


def normalize_in_training(weight: Tensor, u0: Tensor, sv0: Tensor) -> Tensor:
    """Divide `weight` by its largest singular value and take one power step: `u0` and `sv0` move, in place.

    The singular vectors count as constants for the gradient (arXiv 1802.05957, equation 12).
    """
    matrix = weight.flatten(1)
    with torch.no_grad():
        v = F.normalize(u0 @ matrix, eps=_EPSILON)
        u = F.normalize(v @ matrix.T, eps=_EPSILON)
        u0.copy_(u)
    value = ((v @ matrix.T) * u).sum()
    with torch.no_grad():
        sv0.fill_(value)
    return weight / value


class SpectralConv2d(nn.Conv2d):
    """Convolve with the normalized weight; `u0` is stored with the weights, `sv0` only informs."""

    u0: Tensor
    sv0: Tensor

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, *, padding: int = 0, bias: bool = True
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, padding=padding, bias=bias)
        self.register_buffer("u0", torch.randn(1, out_channels))
        self.register_buffer("sv0", torch.ones(1))

    def normalized_weight(self) -> Tensor:
        """Return the weight that the layer multiplies with; in training every call takes a power step."""
        if self.training:
            return normalize_in_training(self.weight, self.u0, self.sv0)
        return normalize_spectrally(self.weight, self.u0)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve `x` [N, C, H, W]."""
        return F.conv2d(x, self.normalized_weight(), self.bias, padding=self.padding)


class SpectralLinear(nn.Linear):
    """Multiply with the normalized weight; `u0` is stored with the weights, `sv0` only informs."""

    u0: Tensor
    sv0: Tensor

    def __init__(self, in_features: int, out_features: int, *, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias=bias)
        self.register_buffer("u0", torch.randn(1, out_features))
        self.register_buffer("sv0", torch.ones(1))

    def normalized_weight(self) -> Tensor:
        """Return the weight that the layer multiplies with; in training every call takes a power step."""
        if self.training:
            return normalize_in_training(self.weight, self.u0, self.sv0)
        return normalize_spectrally(self.weight, self.u0)

    def forward(self, x: Tensor) -> Tensor:
        """Multiply `x` [N, C]."""
        return F.linear(x, self.normalized_weight(), self.bias)
