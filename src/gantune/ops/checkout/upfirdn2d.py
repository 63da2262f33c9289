"""`torch_utils.ops.upfirdn2d`, run by gantune."""

from collections.abc import Sequence

from torch import Tensor

from gantune.ops.checkout.implementation import implementation_of
from gantune.ops.resampling_filter import setup_filter
from gantune.ops.upfirdn2d import downsample2d as gantune_downsample2d
from gantune.ops.upfirdn2d import filter2d as gantune_filter2d
from gantune.ops.upfirdn2d import upfirdn2d as gantune_upfirdn2d
from gantune.ops.upfirdn2d import upsample2d as gantune_upsample2d

__all__ = ["downsample2d", "filter2d", "setup_filter", "upfirdn2d", "upsample2d"]


def upfirdn2d(
    x: Tensor,
    f: Tensor | None,
    up: int | Sequence[int] = 1,
    down: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    flip_filter: bool = False,
    gain: float = 1,
    impl: str = "cuda",
) -> Tensor:
    """Upsample by zero insertion, pad, filter and downsample each channel of `x` [N, C, H, W]."""
    return gantune_upfirdn2d(
        x, f, up, down, padding, flip_filter, gain, implementation=implementation_of(impl)
    )


def filter2d(
    x: Tensor,
    f: Tensor | None,
    padding: int | Sequence[int] = 0,
    flip_filter: bool = False,
    gain: float = 1,
    impl: str = "cuda",
) -> Tensor:
    """Filter each channel of `x` [N, C, H, W] at unchanged size."""
    return gantune_filter2d(x, f, padding, flip_filter, gain, implementation=implementation_of(impl))


def upsample2d(
    x: Tensor,
    f: Tensor | None,
    up: int | Sequence[int] = 2,
    padding: int | Sequence[int] = 0,
    flip_filter: bool = False,
    gain: float = 1,
    impl: str = "cuda",
) -> Tensor:
    """Enlarge each channel of `x` [N, C, H, W] `up` times."""
    return gantune_upsample2d(x, f, up, padding, flip_filter, gain, implementation=implementation_of(impl))


def downsample2d(
    x: Tensor,
    f: Tensor | None,
    down: int | Sequence[int] = 2,
    padding: int | Sequence[int] = 0,
    flip_filter: bool = False,
    gain: float = 1,
    impl: str = "cuda",
) -> Tensor:
    """Shrink each channel of `x` [N, C, H, W] to 1 / `down` of its size."""
    return gantune_downsample2d(
        x, f, down, padding, flip_filter, gain, implementation=implementation_of(impl)
    )
