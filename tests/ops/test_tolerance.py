"""The measure of difference: what it calls equal, and that NaN and other shapes never pass."""

import torch

from gantune.ops.tolerance import BY_DTYPE, DERIVATIVES, EXACT, Tolerance, largest_error


def test_the_error_is_relative_to_the_largest_value_but_never_to_less_than_one() -> None:
    assert largest_error(torch.tensor([0.25]), torch.tensor([0.0])) == 0.25
    assert largest_error(torch.tensor([9.0, 1.0]), torch.tensor([10.0, 0.0])) == 0.1


def test_nan_infinity_and_other_shapes_never_pass() -> None:
    ones = torch.ones(2)
    assert largest_error(torch.tensor([1.0, float("nan")]), ones) == float("inf")
    assert largest_error(torch.tensor([1.0, float("inf")]), ones) == float("inf")
    assert largest_error(torch.ones(1), ones) == float("inf")
    assert not EXACT.allows(torch.ones(1), ones)


def test_a_bound_allows_what_it_says() -> None:
    bound = Tolerance(0.5, "a test")
    assert bound.allows(torch.tensor([1.5]), torch.tensor([1.0]))
    assert not bound.allows(torch.tensor([1.75]), torch.tensor([1.0]))


def test_every_bound_has_its_reason() -> None:
    assert all(tolerance.reason for tolerance in (EXACT, DERIVATIVES, *BY_DTYPE.values()))
