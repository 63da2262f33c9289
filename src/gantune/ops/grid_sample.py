"""Bilinear sampling of an image at free positions, differentiable any number of times.

torch's own grid_sample has no second derivative. This one is built of floor, gather and products, which all
have; training with ADA needs it for R1 through the augmentation.
"""

from torch import Tensor

from gantune.errors import UsageError


def grid_sample(image: Tensor, grid: Tensor) -> Tensor:
    """Sample `image` [N, C, H, W] at `grid` [N, Y, X, 2] and return [N, C, Y, X].

    As torch.nn.functional.grid_sample with bilinear interpolation, zeros outside and align_corners=False:
    grid holds (x, y), and −1 and 1 are the outer edges of the image. Raises UsageError for other shapes.
    """
    if image.ndim != 4 or grid.ndim != 4 or grid.shape[3] != 2 or grid.shape[0] != image.shape[0]:
        raise UsageError(
            f"grid_sample takes an image [N, C, H, W] and a grid [N, Y, X, 2], found {list(image.shape)} "
            f"and {list(grid.shape)}"
        )
    H, W = image.shape[2:]
    x = (grid[..., 0] + 1) * (W / 2) - 0.5  # [N, Y, X]
    y = (grid[..., 1] + 1) * (H / 2) - 0.5
    # The corner is a step function of the position: no derivative goes through it.
    left, top = x.detach().floor(), y.detach().floor()
    right_share, bottom_share = x - left, y - top
    upper = (
        _pick(image, left, top) * (1 - right_share)[:, None]
        + _pick(image, left + 1, top) * right_share[:, None]
    )
    lower = (
        _pick(image, left, top + 1) * (1 - right_share)[:, None]
        + _pick(image, left + 1, top + 1) * right_share[:, None]
    )
    return upper * (1 - bottom_share)[:, None] + lower * bottom_share[:, None]


def _pick(image: Tensor, column: Tensor, row: Tensor) -> Tensor:
    """Return the samples [N, C, Y, X] of `image` at whole positions [N, Y, X], zero outside."""
    N, C, H, W = image.shape
    is_inside = (column >= 0) & (column < W) & (row >= 0) & (row < H)
    index = row.clamp(0, H - 1).long() * W + column.clamp(0, W - 1).long()
    samples = image.reshape(N, C, H * W).gather(2, index.reshape(N, 1, -1).expand(N, C, -1))
    return samples.reshape(N, C, *column.shape[1:]) * is_inside[:, None].to(image.dtype)
