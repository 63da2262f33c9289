"""`torch_utils.ops.grid_sample_gradfix`, run by gantune."""

from torch import Tensor

from gantune.ops.grid_sample import grid_sample as sample

__all__ = ["enabled", "grid_sample"]

# Training scripts set this; sampling is twice differentiable whatever it says.
enabled = True


def grid_sample(input: Tensor, grid: Tensor) -> Tensor:
    """Sample `input` [N, C, H, W] at `grid` [N, Y, X, 2]: bilinear, zeros outside, align_corners=False."""
    return sample(input, grid)
