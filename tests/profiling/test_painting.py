"""Which range is innermost at a moment."""

import numpy as np

from gantune.profiling.painting import Painting


def test_the_innermost_range_owns_the_moment() -> None:
    painting = Painting.of([(0, 10), (2, 5), (3, 4), (12, 13)])
    assert painting.owner_at(np.array([1, 2.5, 3.5, 4.5, 6, 11, 12.5, 20])).tolist() == [
        0,
        1,
        2,
        1,
        0,
        -1,
        3,
        -1,
    ]


def test_own_time_leaves_out_what_inner_ranges_take() -> None:
    assert Painting.of([(0, 10), (2, 5), (3, 4)]).own_time(3).tolist() == [7, 2, 1]


def test_nothing_owns_an_empty_painting() -> None:
    assert Painting.of([]).owner_at(np.array([1.0])).tolist() == [-1]
