"""Scales map ends onto ends, and ticks are round."""

import pytest

from gantune.reporting.axes import Scale, draw_text, find_log_ticks, find_ticks


def test_a_linear_scale_maps_the_middle_to_the_middle() -> None:
    assert Scale(20, 80, 400, 0)(50) == 200


def test_a_logarithmic_scale_maps_the_geometric_middle() -> None:
    assert Scale(1, 100, 0, 10, is_log=True)(10) == pytest.approx(5)


def test_values_outside_land_on_the_ends() -> None:
    assert (Scale(0, 1, 0, 10)(-5), Scale(0, 1, 0, 10)(7)) == (0, 10)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (20, 79, [20, 40, 60]),
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (-0.1, 0.1, [-0.1, -0.05, 0, 0.05, 0.1]),
        (3, 4.2, [3, 3.5, 4]),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: list[float]) -> None:
    assert find_ticks(low, high) == pytest.approx(ticks)


def test_logarithmic_ticks() -> None:
    assert find_log_ticks(150, 2300) == pytest.approx([200, 500, 1000, 2000])


def test_text_in_a_plot_is_escaped() -> None:
    assert "<b>" not in draw_text(0, 0, "<b>")
