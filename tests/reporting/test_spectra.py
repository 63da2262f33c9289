"""The spectrum plot draws every curve and says how far apart they are."""

from xml.etree import ElementTree

import pytest

from gantune.records.report import SpectrumCurve
from gantune.reporting.spectra import describe_spectra, draw_spectra

FIRST = SpectrumCurve(name="original", frequency=(0.0, 0.25, 0.5), power_db=(60.0, 20.0, 10.0))
SECOND = SpectrumCurve(name="bf16", frequency=(0.0, 0.25, 0.5), power_db=(60.0, 20.5, 8.75))


def test_the_largest_difference_is_told() -> None:
    assert describe_spectra([FIRST, SECOND]).endswith("bf16 differs by at most 1.25 dB.")


@pytest.mark.parametrize("is_narrow", [False, True])
def test_power_and_difference_are_drawn(*, is_narrow: bool) -> None:
    plot = ElementTree.fromstring(draw_spectra([FIRST, SECOND], is_narrow=is_narrow))
    classes = [path.attrib["class"] for path in plot.findall("path")]
    assert classes == ["curve curve-0", "curve curve-1", "curve curve-1"]


def test_a_flat_difference_can_be_drawn() -> None:
    assert "nan" not in draw_spectra([FIRST, FIRST], is_narrow=False)
