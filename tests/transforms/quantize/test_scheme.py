import pytest
import torch

from gantune.errors import UsageError
from gantune.transforms.quantize.scheme import BITS, Scheme, fit_grid


def test_symmetric_8_bits_are_127_steps_a_side() -> None:
    grid = fit_grid(torch.tensor(-2.54), torch.tensor(1.0), Scheme(bits=8))
    assert (grid.low, grid.high) == (-127, 127)
    assert float(grid.scale) == pytest.approx(0.02)
    x = torch.tensor([-2.54, -9.0, 0.0, 0.031, 0.03])
    assert grid.quantize(x).tolist() == [-127, -127, 0, 2, 2]


def test_asymmetric_8_bits_have_zero_exactly() -> None:
    grid = fit_grid(torch.tensor(-1.0), torch.tensor(4.1), Scheme(bits=8, symmetry="asymmetric"))
    assert (grid.low, grid.high) == (0, 255)
    assert float(grid.scale) == pytest.approx(0.02)
    assert float(grid.zero_point) == 50
    assert float(grid.dequantize(grid.quantize(torch.tensor(0.0)))) == 0.0
    assert grid.quantize(torch.tensor([-5.0, 4.1, 99.0])).tolist() == [0, 255, 255]


def test_a_range_that_leaves_zero_out_is_widened_to_it() -> None:
    grid = fit_grid(torch.tensor(1.0), torch.tensor(2.55), Scheme(bits=8, symmetry="asymmetric"))
    assert float(grid.zero_point) == 0
    assert float(grid.scale) == pytest.approx(0.01)


def test_nothing_but_zeros_gets_scale_1() -> None:
    for symmetry in ("symmetric", "asymmetric"):
        grid = fit_grid(torch.tensor(0.0), torch.tensor(0.0), Scheme(symmetry=symmetry))
        assert float(grid.scale) == 1.0


@pytest.mark.parametrize(("bits", "low", "high"), [(1, -1, 1), (2, -1, 1), (4, -7, 7), (16, -32767, 32767)])
def test_bits_give_their_integers(bits: int, low: int, high: int) -> None:
    scheme = Scheme(bits=bits)
    assert (scheme.low, scheme.high) == (low, high)
    assert Scheme(bits=bits, symmetry="asymmetric").high == 2**bits - 1


@pytest.mark.parametrize("bits", [0, 9, 12, 32])
def test_other_bits_are_refused_with_the_allowed_ones(bits: int) -> None:
    with pytest.raises(UsageError, match=f"{bits} bits.*1, 2, 3, 4, 5, 6, 7, 8, 16"):
        Scheme(bits=bits)
    assert bits not in BITS


def test_other_words_are_refused() -> None:
    with pytest.raises(UsageError, match="symmetry is 'signed'"):
        Scheme(symmetry="signed")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="granularity is 'per_group'"):
        Scheme(granularity="per_group")  # type: ignore[arg-type]
