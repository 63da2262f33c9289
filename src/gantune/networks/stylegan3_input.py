"""The input of StyleGAN3: Fourier features that w translates and rotates (arXiv 2106.12423, section 3.1)."""

from math import pi, sqrt

import torch
from torch import Tensor, nn

from gantune.networks.equalized import EqualizedLinear


class FourierInput(nn.Module):
    """Map w [N, w_dim] to [N, channels, size, size], band-limited to `bandwidth` cycles per image.

    `transform` [3, 3] is the user's own: it moves the scene before w does.
    """

    freqs: Tensor
    phases: Tensor
    transform: Tensor
    grid: Tensor

    def __init__(
        self, w_dim: int, channels: int, *, size: int, sampling_rate: float, bandwidth: float
    ) -> None:
        super().__init__()
        self.w_dim = w_dim
        self.channels = channels
        self.size = size
        self.sampling_rate = sampling_rate
        self.bandwidth = bandwidth
        angle = 2 * pi * torch.rand(channels)
        radius = bandwidth * torch.rand(channels).sqrt()
        freqs = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
        self.weight = nn.Parameter(torch.randn(channels, channels))
        self.affine = EqualizedLinear(w_dim, 4, weight_init=0, bias_init=[1, 0, 0, 0])
        self.register_buffer("transform", torch.eye(3))
        self.register_buffer("freqs", freqs)
        self.register_buffer("phases", torch.rand(channels) - 0.5)
        self.register_buffer("grid", _sample_positions(size, sampling_rate), persistent=False)

    def forward(self, w: Tensor) -> Tensor:
        """Return the features."""
        M = self.motion(w)
        phases = self.phases + (self.freqs @ M[:, :2, 2:]).squeeze(2)  # [N, C]
        freqs = self.freqs @ M[:, :2, :2]  # [N, C, 2]
        norms = freqs.square().sum(dim=2).sqrt()
        fade = (norms - self.bandwidth) / (self.sampling_rate / 2 - self.bandwidth)
        amplitudes = (1 - fade).clamp(0, 1)
        waves = torch.sin(2 * pi * (freqs @ self.grid.t() + phases.unsqueeze(2)))  # [N, C, H·W]
        mixed = (self.weight / sqrt(self.channels)) @ (waves * amplitudes.unsqueeze(2))
        return mixed.reshape(-1, self.channels, self.size, self.size)

    def motion(self, w: Tensor) -> Tensor:
        """Return R·T·transform [N, 3, 3]: w's rotation, w's translation, then the user's transform."""
        t = self.affine(w)
        t = t / t[:, :2].square().sum(dim=1, keepdim=True).sqrt()
        cos, sin, x, y = t.unbind(dim=1)
        zero, one = torch.zeros_like(cos), torch.ones_like(cos)
        rotation = torch.stack([cos, -sin, zero, sin, cos, zero, zero, zero, one], dim=1)
        translation = torch.stack([one, zero, -x, zero, one, -y, zero, zero, one], dim=1)
        return rotation.reshape(-1, 3, 3) @ translation.reshape(-1, 3, 3) @ self.transform


def _sample_positions(size: int, sampling_rate: float) -> Tensor:
    """Return the positions [size², 2] of the sample centres as (x, y), 0 in the middle, the image 1 wide."""
    axis = (torch.arange(size) + 0.5 - size / 2) / sampling_rate
    rows, columns = torch.meshgrid(axis, axis, indexing="ij")
    return torch.stack([columns.flatten(), rows.flatten()], dim=1)
