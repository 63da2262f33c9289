"""What upfirdn2d refuses, and the sizes it promises."""

import pytest
import torch

from gantune.errors import UsageError
from gantune.ops import downsample2d, filter2d, setup_filter, upfirdn2d, upsample2d
from gantune.ops.padding import Padding
from gantune.ops.upfirdn2d.options import Upfirdn2dOptions


def test_the_size_is_the_formula_by_hand() -> None:
    options = Upfirdn2dOptions(up_x=2, down_y=2, padding=Padding(3, 0, -1, 4))
    # (10 − 1 + 4 − 4) // 2 + 1 = 5 and 2·12 + 3 − 4 + 1 = 24: the golden case with these numbers.
    assert options.output_size(10, 12, taps_y=4, taps_x=4) == (5, 24)


@pytest.mark.parametrize("implementation", ["reference", "portable"])
def test_an_image_smaller_than_the_filter_is_refused_in_one_sentence(implementation: str) -> None:
    with pytest.raises(UsageError, match=r"the result would be -1 × 0.*add padding"):
        upfirdn2d(torch.zeros(1, 1, 2, 3), torch.ones(4, 4), implementation=implementation)


@pytest.mark.parametrize("x", [torch.zeros(1, 2, 3), torch.zeros(1, 1, 4, 4, dtype=torch.int32)])
def test_what_is_not_an_image_batch_is_refused(x: torch.Tensor) -> None:
    with pytest.raises(UsageError, match=r"x is a floating-point tensor \[N, C, H, W\]"):
        upfirdn2d(x, None)


def test_resizing_helpers_keep_the_mean_and_give_exact_sizes() -> None:
    f = setup_filter([1, 3, 3, 1])
    x = torch.ones(1, 2, 12, 16)
    assert upsample2d(x, f, up=[2, 3]).shape == (1, 2, 36, 32)
    assert downsample2d(x, f, down=[4, 2]).shape == (1, 2, 6, 4)
    assert filter2d(x, f).shape == x.shape
    # Away from the border, a constant image stays what it is.
    assert torch.allclose(upsample2d(x, f)[:, :, 4:-4, 4:-4], torch.ones(()))
    assert torch.allclose(downsample2d(x, f)[:, :, 1:-1, 1:-1], torch.ones(()))
    assert torch.allclose(filter2d(x, f, gain=2)[:, :, 2:-2, 2:-2], torch.tensor(2.0))
