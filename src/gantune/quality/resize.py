"""How images are brought to the size a feature network takes: part of every score's identity."""

from typing import Literal, get_args

import torch.nn.functional as F
from torch import Tensor

from gantune.errors import UsageError

ResizeMode = Literal["clean", "legacy"]


def resize(images: Tensor, side: int, *, mode: ResizeMode) -> Tensor:
    """Resize [N, C, H, W] to `side`².

    `clean` is bicubic and antialiased, without rounding (Parmar et al. 2022, "On Aliased Resizing");
    `legacy` is bilinear without antialiasing, as in most published FID figures.
    """
    if mode not in get_args(ResizeMode):
        raise UsageError(f"There is no resize {mode!r}; the modes are: {', '.join(get_args(ResizeMode))}.")
    if images.shape[2:] == (side, side):
        return images
    if mode == "legacy":
        return F.interpolate(images, (side, side), mode="bilinear", align_corners=False)
    return F.interpolate(images, (side, side), mode="bicubic", align_corners=False, antialias=True)
