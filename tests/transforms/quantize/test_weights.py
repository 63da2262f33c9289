import pytest
import torch

from gantune.transforms.quantize.scheme import Scheme
from gantune.transforms.quantize.weights import fit_weight_grid, round_weight


def rounded(weight: torch.Tensor, scheme: Scheme, axis: int = 0) -> torch.Tensor:
    return round_weight(weight, fit_weight_grid(weight, scheme, axis=axis), scheme)


def test_binary_weights_are_the_mean_magnitude_with_the_sign() -> None:
    weight = torch.tensor([[1.0, -3.0, 0.0, 2.0]])
    assert rounded(weight, Scheme(bits=1)).tolist() == [[1.5, -1.5, 1.5, 1.5]]


def test_two_bits_are_ternary() -> None:
    weight = torch.randn(3, 400, generator=torch.Generator().manual_seed(0))
    found = rounded(weight, Scheme(bits=2, granularity="per_channel"))
    assert all(len(row.unique()) == 3 for row in found)
    # The best ternary approximation of a normal distribution keeps 81 % of its energy.
    error = (found - weight).square().sum() / weight.square().sum()
    assert float(error) == pytest.approx(0.19, abs=0.02)


@pytest.mark.parametrize("axis", [0, 1])
def test_each_channel_has_its_own_scale(axis: int) -> None:
    weight = torch.tensor([[1.0, -0.5], [100.0, 30.0]])
    weight = weight if axis == 0 else weight.t().contiguous()
    grid = fit_weight_grid(weight, Scheme(granularity="per_channel"), axis=axis, clipping="min_max")
    assert torch.allclose(grid.scale, torch.tensor([1 / 127, 100 / 127]))
    assert fit_weight_grid(weight, Scheme(), axis=axis).scale.shape == ()


@pytest.mark.parametrize("bits", [3, 4, 8])
def test_clipping_never_rounds_worse(bits: int) -> None:
    weight = torch.randn(4, 3, 3, 3, generator=torch.Generator().manual_seed(1))
    scheme = Scheme(bits=bits, granularity="per_channel")
    errors = []
    for clipping in ("min_max", "mse"):
        grid = fit_weight_grid(weight, scheme, axis=0, clipping=clipping)  # type: ignore[arg-type]
        errors.append(float((round_weight(weight, grid, scheme) - weight).square().sum()))
    assert errors[1] <= errors[0] * (1 + 1e-6)


def test_rounding_twice_changes_nothing() -> None:
    weight = torch.randn(8, 16, generator=torch.Generator().manual_seed(2))
    scheme = Scheme(bits=5, granularity="per_channel")
    grid = fit_weight_grid(weight, scheme, axis=0)
    once = round_weight(weight, grid, scheme)
    assert torch.equal(grid.quantize(once), grid.quantize(weight))
