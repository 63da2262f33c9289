"""The checklist claims only what the report shows."""

import re

from gantune.records.report import CheckItem, Report
from gantune.reporting import fill_checklist, render_page


def line(items: tuple[CheckItem, ...], start: str) -> CheckItem:
    return next(item for item in items if item.text.startswith(start))


def test_a_finished_run_has_done_everything(report: Report) -> None:
    items = fill_checklist(report)
    assert [item.phase for item in items] == ["prepare"] * 5 + ["optimize"] * 4 + ["verify"] * 5
    assert all(item.is_done for item in items)
    assert line(items, "Time each").detail == "6 of 7 measured, 15 rounds each"


def test_each_line_links_to_a_part_of_the_page_that_is_there(
    report: Report, unfinished_report: Report
) -> None:
    for one in (report, unfinished_report):
        page = render_page(one, [])
        targets = set(re.findall(r'href="#([a-z]+)"', page))
        assert targets
        assert targets <= set(re.findall(r'id="([a-z]+)"', page))


def test_without_real_pictures_the_comparison_with_them_is_open(report: Report) -> None:
    assert report.best is not None
    assert report.best.quality is not None
    quality = report.best.quality.model_copy(update={"frechet": None})
    changed = report.model_copy(update={"best": report.best.model_copy(update={"quality": quality})})
    assert not line(fill_checklist(changed), "Compare with real").is_done
    assert line(fill_checklist(report), "Compare with real").detail.startswith("Fréchet distance 12.8")


def test_nothing_kept_leaves_verification_open(unfinished_report: Report) -> None:
    items = fill_checklist(unfinished_report)
    assert not any(item.is_done for item in items if item.phase == "verify")
    assert line(items, "Keep only").detail == "none kept: the original stays"


def test_one_output_that_is_not_finite_is_not_done(report: Report) -> None:
    broken = report.extremes[0].model_copy(update={"is_finite": False})
    items = fill_checklist(report.model_copy(update={"extremes": (broken, *report.extremes[1:])}))
    assert line(items, "Try extreme").detail == "2 of 3 finite"
    assert not line(items, "Try extreme").is_done


def test_a_missing_baseline_is_not_done(report: Report) -> None:
    only = {"as_is": report.baselines["as_is"]}
    assert not line(fill_checklist(report.model_copy(update={"baselines": only})), "Measure both").is_done
