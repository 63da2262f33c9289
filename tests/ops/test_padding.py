"""How padding and factors are read."""

import pytest

from gantune.errors import UsageError
from gantune.ops.padding import Padding, parse_factor, parse_padding


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (3, (3, 3, 3, 3)),
        ([1, 2], (1, 1, 2, 2)),
        ((1, -2, 3, 4), (1, -2, 3, 4)),
        ([0], None),
        ([1, 2, 3], None),
    ],
)
def test_padding_is_one_two_or_four_numbers(given: object, read: tuple[int, ...] | None) -> None:
    if read is None:
        with pytest.raises(UsageError, match="padding is one number"):
            parse_padding(given)  # type: ignore[arg-type]
    else:
        assert parse_padding(given) == read  # type: ignore[arg-type]


def test_padding_grows_at_each_side() -> None:
    assert Padding(1, 2, 3, 4).grow(1, 0, -1, -5) == (2, 2, 2, -1)


def test_factors_are_one_or_two_numbers_of_at_least_one() -> None:
    assert parse_factor(2, name="up") == (2, 2)
    assert parse_factor([1, 3], name="up") == (1, 3)
    for wrong in (0, -1, [2, 0], [1, 2, 3], []):
        with pytest.raises(UsageError, match="down is a whole number"):
            parse_factor(wrong, name="down")
