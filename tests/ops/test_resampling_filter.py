"""Filters by hand calculation."""

import numpy as np
import pytest
import torch

from gantune.errors import UsageError
from gantune.ops import setup_filter
from gantune.ops.resampling_filter import check_filter, filter_taps


def test_a_short_filter_becomes_its_outer_product_with_sum_one() -> None:
    expected = torch.tensor([[1.0, 3, 3, 1], [3, 9, 9, 3], [3, 9, 9, 3], [1, 3, 3, 1]]) / 64
    assert torch.equal(setup_filter([1, 3, 3, 1]), expected)


def test_a_long_filter_stays_separable() -> None:
    f = setup_filter(np.arange(8))
    assert f.shape == (8,)
    assert f.dtype == torch.float32
    assert torch.allclose(f, torch.arange(8) / 28)


def test_gain_multiplies_the_sum_of_the_two_dimensional_filter() -> None:
    assert setup_filter([1, 1], gain=4).sum() == 4
    separable = setup_filter([1.0] * 8, gain=4)
    assert torch.outer(separable, separable).sum().item() == pytest.approx(4)


def test_options_flip_and_do_not_normalize() -> None:
    assert setup_filter([1, 2], normalize=False, flip_filter=True, separable=True).tolist() == [2, 1]
    assert setup_filter([[1, 2], [3, 4]], normalize=False, flip_filter=True).tolist() == [[4, 3], [2, 1]]


def test_nothing_and_a_number_are_one_tap() -> None:
    assert setup_filter(None).tolist() == [[1]]
    assert setup_filter(5).tolist() == [[1]]


@pytest.mark.parametrize("wrong", [[], np.zeros((2, 2, 2))])
def test_a_filter_of_another_shape_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError, match="a filter has shape"):
        setup_filter(wrong)  # type: ignore[arg-type]


def test_a_two_dimensional_filter_is_not_separable() -> None:
    with pytest.raises(UsageError, match="cannot be taken as separable"):
        setup_filter(np.ones((2, 2)), separable=True)


def test_taps_are_counted_along_x_and_y() -> None:
    assert filter_taps(None) == (1, 1)
    assert filter_taps(torch.ones(5)) == (5, 5)
    assert filter_taps(torch.ones(2, 3)) == (3, 2)


@pytest.mark.parametrize("wrong", [torch.ones(2, dtype=torch.int32), torch.ones(1, 1, 2), torch.tensor(1.0)])
def test_what_is_not_a_filter_is_refused(wrong: torch.Tensor) -> None:
    with pytest.raises(UsageError, match="setup_filter"):
        check_filter(wrong)
