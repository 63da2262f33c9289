"""Before and after pictures and their difference, as PNG data addresses."""

import base64
import io
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from gantune.errors import UsageError

Pixels = NDArray[np.float32]
MAX_SIDE = 512


@dataclass(frozen=True)
class Sample:
    """One input's picture from the original (`before`) and from the best candidate (`after`).

    Both are [H, W, C] in [0, 1], C 1 or 3. Raises `UsageError` for anything else.
    """

    title: str
    before: Pixels
    after: Pixels

    def __post_init__(self) -> None:
        if (
            self.before.shape != self.after.shape
            or self.before.ndim != 3
            or self.before.shape[2] not in (1, 3)
        ):
            raise UsageError(
                f"A sample's pictures have shapes {self.before.shape} and {self.after.shape}; "
                "both must be [H, W, C] with C 1 or 3."
            )


@dataclass(frozen=True)
class Comparison:
    """What the page shows of a sample: three PNG data addresses, the shown size, and how it was made."""

    title: str
    before: str
    after: str
    difference: str
    amplification: int | None
    width: int
    height: int
    cropped_from: tuple[int, int] | None


def compare(sample: Sample) -> Comparison:
    """Cut the middle of large pictures, at their true pixels, and amplify the difference to be visible.

    `amplification` is a power of two, or None where the pictures are identical. The difference is black where
    both agree.
    """
    before, after = _cut_middle(sample.before), _cut_middle(sample.after)
    difference = np.abs(after - before)
    amplification = _amplification(difference)
    height, width = before.shape[:2]
    whole = sample.before.shape[1], sample.before.shape[0]
    return Comparison(
        title=sample.title,
        before=encode_png(before),
        after=encode_png(after),
        difference=encode_png(difference * (amplification or 0)),
        amplification=amplification,
        width=width,
        height=height,
        cropped_from=None if whole == (width, height) else whole,
    )


def encode_png(pixels: Pixels) -> str:
    """Encode [H, W, C] in [0, 1] as a PNG data address; values outside are clipped."""
    levels = np.round(np.clip(np.nan_to_num(pixels), 0, 1) * 255).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(levels[:, :, 0] if levels.shape[2] == 1 else levels).save(stream, "PNG")
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


def _cut_middle(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    top, left = max(0, (height - MAX_SIDE) // 2), max(0, (width - MAX_SIDE) // 2)
    return pixels[top : top + MAX_SIDE, left : left + MAX_SIDE]


def _amplification(difference: Pixels) -> int | None:
    """Bring the 99.9th percentile of the difference just below white."""
    largest = float(difference.max(initial=0))
    if largest == 0:
        return None
    reference = float(np.quantile(difference, 0.999)) or largest
    return int(2 ** max(0, math.floor(math.log2(1 / max(reference, 2.0**-24)))))
