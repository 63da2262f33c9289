"""modulated_conv2d: what it refuses, and half precision."""

import pytest
import torch

from gantune.errors import UsageError
from gantune.ops import modulated_conv2d


def test_modulated_conv2d_takes_inputs_of_ordinary_size_in_float16() -> None:
    x = torch.full((1, 64, 4, 4), 200.0, dtype=torch.float16)
    styles = torch.full((1, 64), 1000.0)
    weight = torch.full((2, 64, 1, 1), 0.01)
    y = modulated_conv2d(x, weight, styles, implementation="portable")
    # The demodulated weight is 1 / √64 everywhere: 64 · 200 / 8.
    assert torch.equal(y, torch.full_like(y, 1600))


def zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


@pytest.mark.parametrize(
    ("x", "weight", "styles", "message"),
    [
        ((1, 3, 4, 4), (2, 4, 3, 3), (1, 3), "differ in input channels: 3, 4 and 3"),
        ((1, 3, 4, 4), (2, 3, 3, 3), (1, 2), "differ in input channels: 3, 3 and 2"),
        ((3, 4, 4), (2, 3, 3, 3), (1, 3), "takes x"),
        ((2, 3, 4, 4), (2, 3, 3, 3), (3, 3), "2 samples and 3 styles"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    x: tuple[int, ...], weight: tuple[int, ...], styles: tuple[int, ...], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        modulated_conv2d(zeros(*x), zeros(*weight), zeros(*styles))


@pytest.mark.parametrize("factor", ["up", "down"])
def test_a_factor_below_one_is_refused(factor: str) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        modulated_conv2d(zeros(1, 3, 4, 4), zeros(2, 3, 3, 3), zeros(1, 3), **{factor: 0})
