"""FIR filters for resampling: how they are built and what their shape means."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gantune.errors import UsageError

# Shorter 1-D filters are cheaper as one 2-D pass on a GPU; the field's checkpoints store them so.
SEPARABLE_FROM_TAPS = 8


def setup_filter(
    f: Tensor | np.ndarray | Sequence[float] | Sequence[Sequence[float]] | float | None,
    device: torch.device | str | None = None,
    normalize: bool = True,
    flip_filter: bool = False,
    gain: float = 1,
    separable: bool | None = None,
) -> Tensor:
    """Turn taps into the float32 filter that the operations take.

    `f` is [taps], [taps_y, taps_x], a number, or None for the identity. `normalize` makes the taps sum to
    one; `gain` multiplies the filter's sum. With `separable` the result is 1-D and goes for both axes; by
    default that is so for 1-D filters of 8 taps or more, and shorter ones become their outer product.
    Raises UsageError for an empty filter, more than two dimensions, or `separable` for a 2-D filter.
    """
    taps = torch.as_tensor(1.0 if f is None else f, dtype=torch.float32)
    if taps.ndim > 2 or taps.numel() == 0:
        raise UsageError(f"a filter has shape [taps] or [taps_y, taps_x], found {list(taps.shape)}")
    if taps.ndim == 0:
        taps = taps[None]
    if separable is None:
        separable = taps.ndim == 1 and taps.numel() >= SEPARABLE_FROM_TAPS
    if separable and taps.ndim == 2:
        raise UsageError("a 2-D filter cannot be taken as separable; give its 1-D taps")
    if taps.ndim == 1 and not separable:
        taps = torch.outer(taps, taps)
    if normalize:
        taps = taps / taps.sum()
    if flip_filter:
        taps = taps.flip(list(range(taps.ndim)))
    taps = taps * float(gain ** (taps.ndim / 2))
    return taps.to(device=device)


def check_filter(f: Tensor | None) -> None:
    """Raise UsageError unless `f` is None or a real floating-point filter of one or two dimensions."""
    if f is None:
        return
    if f.ndim not in (1, 2) or not f.dtype.is_floating_point:
        raise UsageError(
            f"a filter is a floating-point tensor [taps] or [taps_y, taps_x], found {f.dtype} with "
            f"{f.ndim} dimensions; build it with gantune.ops.setup_filter"
        )


def filter_taps(f: Tensor | None) -> tuple[int, int]:
    """Return the number of taps along x and y: (1, 1) for None."""
    if f is None:
        return 1, 1
    return f.shape[-1], f.shape[0]
