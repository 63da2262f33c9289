"""Figures are rounded by one rule and lead back to their place in the JSON."""

import pytest

from gantune.reporting.figures import look_up, write_figure, write_significant, write_value


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.03514, "0.0351"), (35.14, "35.1"), (351.4, "351"), (1640.2, "1,640"), (0.0, "0"), (-2.345, "-2.35")],
)
def test_three_significant_digits(value: float, text: str) -> None:
    assert write_significant(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3.401, "ratio", "3.40×"),
        (12.34, "ratio", "12.3×"),
        (46.34, "db", "46.3 dB"),
        (675 * 2**20, "bytes", "675 MiB"),
        (1540 * 2**20, "bytes", "1.50 GiB"),
        (1000, "bytes", "0.977 KiB"),
        (0.1504, "percent", "15.0 %"),
        (14_900_000_000, "amount", "14.9 G"),
        (23_300, "amount", "23.3 k"),
        (0, "amount", "0"),
        (None, "ms", "–"),
    ],
)
def test_units(value: float | None, unit: str, text: str) -> None:
    assert write_value(value, unit) == text


def test_a_figure_carries_its_source_and_scale() -> None:
    written = write_figure({"rows": [{"peak_bytes": 2**20}]}, "rows.0.peak_bytes", "bytes")
    assert 'data-source="rows.0.peak_bytes"' in written
    assert 'data-scale="1048576.0"' in written
    assert ">1.00</data>" in written


def test_an_absent_figure_is_a_dash() -> None:
    assert "data-source" not in write_figure({"x": None}, "x", "ms")


@pytest.mark.parametrize("path", ["y", "x.y", "x.0.y"])
def test_a_path_that_leads_nowhere_is_refused(path: str) -> None:
    with pytest.raises(LookupError):
        look_up({"x": [1.0]} if path != "x.y" else {"x": 1.0}, path)


def test_text_is_not_a_figure() -> None:
    with pytest.raises(TypeError, match="a figure is a number"):
        write_figure({"x": "fast"}, "x", "ms")
