"""The blind test in a real browser: random sides, recorded answers, and an exact interval."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from gantune.errors import StorageError
from gantune.records.report import Report
from gantune.reporting import Sample
from gantune.reporting.blind_page import render_blind_page, write_blind_page

Resize = Callable[[int, str], None]


@pytest.fixture
def address(report: Report, samples: list[Sample], tmp_path: Path) -> str:
    write_blind_page(report, samples, tmp_path / "blind.html")
    return (tmp_path / "blind.html").as_uri()


def run_script(browser: Chrome, script: str) -> object:
    return cast(object, browser.execute_script(script))


def test_the_page_names_no_address_and_tells_no_side(report: Report, samples: list[Sample]) -> None:
    page = render_blind_page(report, samples)
    assert "http://" not in page
    assert "https://" not in page
    body = page.split("<main")[1].split("</main>")[0]
    assert "data:image" not in body


def test_text_from_a_checkpoint_cannot_end_the_data(report: Report, samples: list[Sample]) -> None:
    hostile = Sample(
        title="</script><script>alert(1)</script>", before=samples[0].before, after=samples[0].after
    )
    assert "<script>alert" not in render_blind_page(report, [hostile])


def test_a_folder_that_is_not_there_is_a_storage_error(report: Report, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="could not be written"):
        write_blind_page(report, [], tmp_path / "absent" / "blind.html")


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    # Clopper and Pearson's intervals, from R's binom.test.
    [(0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0), (7, 10, 0.3475, 0.9333), (50, 100, 0.3983, 0.6017)],
)
def test_the_interval_is_the_exact_binomial_one(
    browser: Chrome, address: str, right: int, n: int, low: float, high: float
) -> None:
    browser.get(address)
    found = cast(list[float], run_script(browser, f"return interval({right}, {n})"))
    assert found == pytest.approx([low, high], abs=1e-4)


def test_answers_are_recorded_and_judged(browser: Chrome, address: str) -> None:
    browser.get(address)
    for index in range(8):
        # Choose the original each time, as somebody who sees the difference would.
        side = cast(str, run_script(browser, "return shown.original"))
        browser.find_element(By.ID, side).click()
        assert run_script(browser, "return answers.length") == index + 1
    told = browser.find_element(By.ID, "result").text
    assert told == "8 of 8 right: 100 % (63 % to 100 %). At n = 8: the difference can be seen."
    browser.find_element(By.ID, "forget").click()
    assert browser.find_element(By.ID, "result").text == "No answer yet."


def test_both_sides_hold_the_original_in_turn_and_every_pair_is_shown(browser: Chrome, address: str) -> None:
    browser.get(address)
    shown = cast(
        list[list[object]],
        run_script(
            browser,
            "const seen = []; for (let i = 0; i < 40; i += 1) { seen.push([shown.pair, shown.original,"
            " document.getElementById(shown.original + '-picture').src === pairs[shown.pair].original]);"
            " next(); } return seen;",
        ),
    )
    assert {pair for pair, _, _ in shown} == {0, 1, 2, 3}
    assert {side for _, side, _ in shown} == {"left", "right"}
    assert all(is_right for _, _, is_right in shown)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_no_violation_and_nothing_scrolls_sideways(
    browser: Chrome, resize: Resize, axe_source: str, address: str, width: int, scheme: str
) -> None:
    resize(width, scheme)
    browser.get(address)
    assert run_script(
        browser, "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    run_script(browser, axe_source)
    found = browser.execute_async_script(
        "const done = arguments[0]; axe.run().then(r => done(r.violations.map(v => v.id + ' ' +"
        " v.nodes.map(n => n.html))), e => done([String(e)]));"
    )
    assert not found
