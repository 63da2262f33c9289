"""The order of steps changes nothing: a resampled convolution is its three steps one after another."""

import pytest
import torch
import torch.nn.functional as F

from gantune.ops import upfirdn2d
from gantune.ops.padding import parse_padding
from gantune.ops.resampled_convolution import ConvolutionOptions, convolve_resampled
from gantune.ops.tolerance import BY_DTYPE, largest_error
from gantune.ops.upfirdn2d.reference import upfirdn2d_reference


@pytest.mark.parametrize(("up", "down"), [(1, 1), (2, 1), (4, 1), (1, 2), (1, 3), (2, 2)])
@pytest.mark.parametrize("kernel", [(1, 1), (3, 3), (2, 3), (5, 1)])
@pytest.mark.parametrize("padding", [0, 2, [3, 1, 0, 2]])
@pytest.mark.parametrize("flip", [True, False])
def test_it_is_upsampling_then_convolution_then_downsampling(
    up: int, down: int, kernel: tuple[int, int], padding: int | list[int], flip: bool
) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 4, 7, 8, dtype=torch.float64)
    w = torch.randn(6, 2, *kernel, dtype=torch.float64)
    f = torch.randn(4, 3, dtype=torch.float64)
    options = ConvolutionOptions(up, down, parse_padding(padding), 2, flip, not flip)

    found = convolve_resampled(x, w, f, options, resample=upfirdn2d_reference)

    # The published growth of the padding, for 3 taps along x and 4 along y.
    x0, x1, y0, y1 = parse_padding(padding)
    if up > 1:
        x0, x1, y0, y1 = x0 + (up + 2) // 2, x1 + (3 - up) // 2, y0 + (up + 3) // 2, y1 + (4 - up) // 2
    if down > 1:
        x0, x1 = x0 + (4 - down) // 2, x1 + (3 - down) // 2
        y0, y1 = y0 + (5 - down) // 2, y1 + (4 - down) // 2
    filtered = f if up > 1 else None
    expected = upfirdn2d(x, filtered, up, 1, [x0, x1, y0, y1], not flip, up**2, implementation="reference")
    expected = F.conv2d(expected, w if flip else w.flip([2, 3]), groups=2)
    if down > 1:
        expected = upfirdn2d(expected, f, down=down, flip_filter=not flip, implementation="reference")
    assert largest_error(found, expected) <= BY_DTYPE[torch.float64].relative
