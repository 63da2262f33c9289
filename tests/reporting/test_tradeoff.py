"""The trade-off plot places every measured subject, names it, and labels do not stand on each other."""

import re
from xml.etree import ElementTree

import pytest

from gantune.records.report import Report
from gantune.reporting.page import number_candidates
from gantune.reporting.tradeoff import CHARACTER_WIDTH, Point, draw_tradeoff, list_points


def test_failed_candidates_are_not_drawn(report: Report) -> None:
    points = list_points(report, number_candidates(report))
    assert len(points) == 2 + 6
    assert [point.kind for point in points].count("best") == 1


def test_faster_is_left_and_better_is_up() -> None:
    points = [Point(1, "fast", "best", 100, 50.0), Point(2, "slow", "kept", 120, 70.0)]
    plot = ElementTree.fromstring(draw_tradeoff(points, budget_db=40, is_narrow=False))
    fast, slow = plot.findall("circle")
    assert float(fast.attrib["cx"]) < float(slow.attrib["cx"])
    assert float(fast.attrib["cy"]) > float(slow.attrib["cy"])


@pytest.mark.parametrize("is_narrow", [False, True])
def test_labels_do_not_overlap(report: Report, *, is_narrow: bool) -> None:
    points = list_points(report, number_candidates(report))
    plot = ElementTree.fromstring(draw_tradeoff(points, budget_db=40, is_narrow=is_narrow))
    boxes = [
        (float(one.attrib["x"]), float(one.attrib["y"]), len(one.text or "") * CHARACTER_WIDTH)
        for one in plot.findall("text")
        if one.attrib["class"].startswith("label")
    ]
    assert len(boxes) == len(points)
    for index, (x, y, width) in enumerate(boxes):
        for other_x, other_y, other_width in boxes[:index]:
            assert abs(y - other_y) >= 15 or x + width <= other_x or other_x + other_width <= x


def test_the_plot_is_told_in_words(report: Report) -> None:
    points = list_points(report, number_candidates(report))
    label = re.search(r'aria-label="([^"]*)"', draw_tradeoff(points, budget_db=None, is_narrow=True))
    assert label is not None
    assert "openvino bf16 204 ms, 31.2 dB" in label[1]
    assert "tuned 668 ms, identical" in label[1]


@pytest.mark.parametrize("latency_ms", [5.0, 0.004])
def test_one_point_alone_can_be_drawn(latency_ms: float) -> None:
    point = Point(None, "as is", "baseline", latency_ms, None)
    assert "nan" not in draw_tradeoff([point], budget_db=None, is_narrow=False)


def test_the_budget_line_is_labeled() -> None:
    point = Point(None, "as is", "baseline", 5, None)
    assert ">budget</text>" in draw_tradeoff([point], budget_db=44, is_narrow=False)
    assert ">budget</text>" not in draw_tradeoff([point], budget_db=None, is_narrow=False)
