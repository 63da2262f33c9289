"""Geometric augmentation: flips, turns, shifts, scales as one resampling (ADA, arXiv 2006.06676, appendix B).

All decisions of a sample become one 3×3 matrix from places in the result to places in the image, in pixels
about the center. The image is reflected outwards, up-sampled, read at those places and down-sampled again, so
that nothing aliases.
"""

from math import ceil, pi, sqrt

import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.ops import downsample2d, grid_sample, setup_filter, upsample2d
from gantune.training.augment.chance import happens, normal, uniform
from gantune.training.dealing import Draw

BLIT_NAMES = ("flip", "quarter_turn", "whole_shift_x", "whole_shift_y")
GEOMETRY_NAMES = ("scale", "turn_before", "stretch", "turn_after", "shift_x", "shift_y")
SHIFT = 0.125
SCALE_OCTAVES = 0.2
# The symlet with six vanishing moments: orthogonal, so that up- and down-sampling keep the energy.
SYM6 = (
    0.015404109327027373,
    0.0034907120842174702,
    -0.11799011114819057,
    -0.048311742585633,
    0.4910559419267466,
    0.787641141030194,
    0.3379294217276218,
    -0.07263752278646252,
    -0.021060292512300564,
    0.04472490177066578,
    0.0017677118642428036,
    -0.007800708325034148,
)
_EDGE = len(SYM6) // 4
# The wavelet is not symmetric: it delays by this many pixels, and as many backwards when it down-samples. A
# flip in between would not undo that.
_DELAY = (sum(tap * k for k, tap in enumerate(SYM6)) / sum(SYM6) - (len(SYM6) - 1) / 2) / 2


def blit_matrix(draw: Draw, p: float, *, height: int, width: int) -> Tensor:
    """Return the matrices [N, 3, 3] of flips, quarter turns and shifts by whole pixels."""
    flips = happens(draw, "flip", p) & (uniform(draw, "flip") < 0.5)
    quarters = torch.floor(uniform(draw, "quarter_turn") * 4) * happens(draw, "quarter_turn", p)
    matrix = _scale(1 - 2 * flips.float(), torch.ones(len(flips))) @ _turn(quarters * (pi / 2))
    shift_x = _whole_shift(draw, "whole_shift_x", p, width)
    shift_y = _whole_shift(draw, "whole_shift_y", p, height)
    # Exact quarter turns: the cosine of π/2 is not quite 0.
    return matrix.round() @ _shift(shift_x, shift_y)


def geometry_matrix(draw: Draw, p: float, *, height: int, width: int) -> Tensor:
    """Return the matrices [N, 3, 3] of scale, turn, stretch, turn and shift."""
    # A turn before and one after the stretch: together as likely as any other decision.
    p_turn = 1 - sqrt(1 - p)
    scale = torch.exp2(normal(draw, "scale") * SCALE_OCTAVES * happens(draw, "scale", p))
    stretch = torch.exp2(normal(draw, "stretch") * SCALE_OCTAVES * happens(draw, "stretch", p))
    matrix = _scale(1 / scale, 1 / scale)
    matrix = matrix @ _turn(_angle(draw, "turn_before", p_turn))
    matrix = matrix @ _scale(1 / stretch, stretch)
    matrix = matrix @ _turn(_angle(draw, "turn_after", p_turn))
    shift_x = normal(draw, "shift_x") * happens(draw, "shift_x", p) * (SHIFT * width)
    shift_y = normal(draw, "shift_y") * happens(draw, "shift_y", p) * (SHIFT * height)
    return matrix @ _shift(shift_x, shift_y)


def warp(images: Tensor, matrix: Tensor) -> Tensor:
    """Return images [N, C, H, W] read at `matrix` [N, 3, 3] · place; samples that stay are not touched."""
    moves = (matrix - torch.eye(3)).abs().amax(dim=(1, 2)) > 0
    if not bool(moves.any()):
        return images
    (moved,) = torch.nonzero(moves, as_tuple=True)
    warped = _warp_all(images[moved], matrix[moved].to(images))
    return images.index_copy(0, moved.to(images.device), warped)


def _warp_all(images: Tensor, matrix: Tensor) -> Tensor:
    H, W = images.shape[2:]
    margin_y, margin_x = _margins(matrix, H, W)
    padded = F.pad(images, [margin_x, margin_x, margin_y, margin_y], mode="reflect")
    wavelet = setup_filter(list(SYM6), device=images.device).to(images.dtype)
    padded = upsample2d(padded, wavelet)
    places = _places(H, W).to(images)  # [Y, X, 3]
    # A stack of small matrix products would be far slower than one of all places.
    read = places.reshape(1, -1, 3) @ matrix[:, :2].transpose(1, 2) + _DELAY
    read = read.reshape(len(images), *places.shape[:2], 2)
    read = read * torch.tensor([2 / (W + 2 * margin_x), 2 / (H + 2 * margin_y)]).to(images)
    sampled = grid_sample(padded, read)
    return downsample2d(sampled, wavelet, padding=-2 * _EDGE, flip_filter=True)


def _places(H: int, W: int) -> Tensor:
    """Return (x, y, 1) [Y, X, 3] of a twice finer grid, `_EDGE` pixels wider than the image on every side."""
    y = (torch.arange(2 * (H + 2 * _EDGE)) + 0.5) / 2 - (H / 2 + _EDGE) - _DELAY
    x = (torch.arange(2 * (W + 2 * _EDGE)) + 0.5) / 2 - (W / 2 + _EDGE) - _DELAY
    rows, columns = torch.meshgrid(y, x, indexing="ij")
    return torch.stack([columns, rows, torch.ones_like(rows)], dim=2)


def _margins(matrix: Tensor, H: int, W: int) -> tuple[int, int]:
    """Return how far outside of the image its reflection is read, at most as far as it reaches."""
    x, y = W / 2 + _EDGE, H / 2 + _EDGE
    corners = torch.tensor([[-x, -y, 1], [x, -y, 1], [-x, y, 1], [x, y, 1]]).to(matrix)
    reach_x, reach_y = (corners @ matrix[:, :2].detach().transpose(1, 2)).abs().amax(dim=(0, 1)).tolist()
    taps = len(SYM6) // 2
    return min(max(ceil(reach_y - H / 2), 0) + taps, H - 1), min(max(ceil(reach_x - W / 2), 0) + taps, W - 1)


def _whole_shift(draw: Draw, name: str, p: float, size: int) -> Tensor:
    return torch.round((2 * uniform(draw, name) - 1) * SHIFT * size) * happens(draw, name, p)


def _angle(draw: Draw, name: str, p: float) -> Tensor:
    return (2 * uniform(draw, name) - 1) * pi * happens(draw, name, p)


def _matrix(rows: list[list[Tensor]]) -> Tensor:
    return torch.stack([torch.stack(row, dim=1) for row in rows], dim=1)  # [N, 3, 3]


def _scale(x: Tensor, y: Tensor) -> Tensor:
    zero, one = torch.zeros_like(x), torch.ones_like(x)
    return _matrix([[x, zero, zero], [zero, y, zero], [zero, zero, one]])


def _turn(angle: Tensor) -> Tensor:
    zero, one = torch.zeros_like(angle), torch.ones_like(angle)
    cosine, sine = angle.cos(), angle.sin()
    return _matrix([[cosine, -sine, zero], [sine, cosine, zero], [zero, zero, one]])


def _shift(x: Tensor, y: Tensor) -> Tensor:
    zero, one = torch.zeros_like(x), torch.ones_like(x)
    return _matrix([[one, zero, x], [zero, one, y], [zero, zero, one]])
