"""A convolution whose weight no input changes."""

import torch.nn.functional as F
from torch import Tensor, nn


class ConstantConvolution(nn.Module):
    """A convolution with a constant weight and no bias."""

    def __init__(self, weight: Tensor, *, padding: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.padding = padding

    def forward(self, x: Tensor) -> Tensor:
        """Correlate x [N, C, H, W] with the weight."""
        return F.conv2d(x, self.weight, padding=self.padding)
