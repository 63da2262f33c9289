"""DiffAugment: color, translation and cutout on every image (Zhao et al., arXiv 2006.10738)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.training.augment.chance import uniform
from gantune.training.dealing import Draw

DIFFAUGMENT_NAMES = ("light", "vividness", "sharpness", "slide_x", "slide_y", "hole_x", "hole_y")
SLIDE = 0.125
HOLE = 0.5


def diffaugment(images: Tensor, draw: Draw) -> Tensor:
    """Return images [N, C, H, W] with changed brightness, saturation and contrast, slid, with a gray hole."""
    images = images + (_column(draw, "light", images) - 0.5)
    gray = images.mean(dim=1, keepdim=True)
    images = (images - gray) * (_column(draw, "vividness", images) * 2) + gray
    mean = images.mean(dim=(1, 2, 3), keepdim=True)
    images = (images - mean) * (_column(draw, "sharpness", images) + 0.5) + mean
    return _cut_out(_slide(images, draw), draw)


def _slide(images: Tensor, draw: Draw) -> Tensor:
    """Shift by up to `SLIDE` of the size; zeros come in."""
    N, _, H, W = images.shape
    most_y, most_x = int(H * SLIDE + 0.5), int(W * SLIDE + 0.5)
    first_y = torch.floor(uniform(draw, "slide_y") * (2 * most_y + 1)).long()
    first_x = torch.floor(uniform(draw, "slide_x") * (2 * most_x + 1)).long()
    padded = F.pad(images, [most_x, most_x, most_y, most_y]).permute(0, 2, 3, 1)
    rows = (first_y[:, None] + torch.arange(H)).to(images.device)  # [N, H]
    columns = (first_x[:, None] + torch.arange(W)).to(images.device)  # [N, W]
    samples = torch.arange(N, device=images.device)[:, None, None]
    return padded[samples, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def _cut_out(images: Tensor, draw: Draw) -> Tensor:
    """Set a square of `HOLE` of the size, which may reach over the edge, to 0."""
    H, W = images.shape[2:]
    rows = _is_cut(uniform(draw, "hole_y"), H)
    columns = _is_cut(uniform(draw, "hole_x"), W)
    is_kept = ~(rows[:, None, :, None] & columns[:, None, None, :])
    return images * is_kept.to(images)


def _is_cut(share: Tensor, size: int) -> Tensor:
    length = int(size * HOLE + 0.5)
    center = torch.floor(share * (size + 1 - length % 2)).long()
    place = torch.arange(size)[None, :]
    return (place >= center[:, None] - length // 2) & (place < center[:, None] - length // 2 + length)


def _column(draw: Draw, name: str, images: Tensor) -> Tensor:
    return uniform(draw, name).to(images)[:, None, None, None]
