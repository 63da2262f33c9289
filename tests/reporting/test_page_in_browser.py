"""The page in a real browser: silent console, no request, accessible, and no sideways scroll on a phone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By

from gantune.records.report import Report
from gantune.reporting import Sample, write_page

Resize = Callable[[int, str], None]


@pytest.fixture(params=["finished", "keeps nothing"])
def address(
    request: pytest.FixtureRequest,
    report: Report,
    unfinished_report: Report,
    samples: list[Sample],
    tmp_path: Path,
) -> str:
    path = tmp_path / "report.html"
    if request.param == "finished":
        write_page(report, samples, path)
    else:
        write_page(unfinished_report, [], path)
    return path.as_uri()


def logs(browser: Chrome, kind: str) -> list[dict[str, str]]:
    return cast(list[dict[str, str]], browser.get_log(kind))  # type: ignore[no-untyped-call]


def run_script(browser: Chrome, script: str) -> object:
    return cast(object, browser.execute_script(script))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_violation(
    browser: Chrome, resize: Resize, axe_source: str, address: str, width: int, scheme: str
) -> None:
    resize(width, scheme)
    browser.get(address)
    run_script(browser, axe_source)
    found = browser.execute_async_script(
        "const done = arguments[0]; axe.run().then(r => done(r.violations.map(v => ({id: v.id, "
        "nodes: v.nodes.map(n => n.html + ' ' + n.failureSummary)}))), e => done([{id: String(e)}]));"
    )
    assert not found, json.dumps(found, indent=1)


def test_the_page_is_silent_and_asks_for_nothing(browser: Chrome, resize: Resize, address: str) -> None:
    resize(1280, "light")
    browser.get("about:blank")
    logs(browser, "browser")
    logs(browser, "performance")
    browser.get(address)
    assert not logs(browser, "browser")
    events = [json.loads(entry["message"])["message"] for entry in logs(browser, "performance")]
    requested = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert address in requested
    assert not [url for url in requested if url != address and not url.startswith("data:")]


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_scrolls_sideways(browser: Chrome, resize: Resize, address: str, width: int) -> None:
    resize(width, "light")
    browser.get(address)
    assert run_script(
        browser, "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    assert run_script(browser, "return document.documentElement.clientWidth") == pytest.approx(width, abs=20)


@pytest.mark.parametrize("address", ["finished"], indirect=True)
def test_the_keyboard_moves_the_slider(browser: Chrome, resize: Resize, address: str) -> None:
    resize(1280, "light")
    browser.get(address)
    cut = "return document.querySelector('.stack').style.getPropertyValue('--cut')"
    assert run_script(browser, cut) == "50%"
    browser.find_element(By.CSS_SELECTOR, ".stack input").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert run_script(browser, cut) == "52%"


@pytest.mark.parametrize("address", ["finished"], indirect=True)
def test_the_difference_view_shows_the_difference(browser: Chrome, resize: Resize, address: str) -> None:
    resize(1280, "light")
    browser.get(address)
    picture = browser.find_element(By.CSS_SELECTOR, ".sample .difference")
    assert not picture.is_displayed()
    browser.find_element(By.CSS_SELECTOR, "input[value=slide]").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert picture.is_displayed()


@pytest.mark.parametrize("address", ["finished"], indirect=True)
def test_a_column_sorts_both_ways_and_rows_without_value_stay_last(
    browser: Chrome, resize: Resize, address: str
) -> None:
    resize(1280, "light")
    browser.get(address)
    names = "return [...document.querySelectorAll('tbody .title')].map(e => e.textContent)"
    header = browser.find_element(By.CSS_SELECTOR, "th[data-key=latency]")
    header.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    ascending = cast(list[str], run_script(browser, names))
    assert header.get_attribute("aria-sort") == "ascending"
    assert ascending[1] == "openvino bf16"
    header.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    descending = cast(list[str], run_script(browser, names))
    assert descending[:-1] == ascending[-2::-1]
    assert ascending[-1] == descending[-1] == "torch_compile fp32"


@pytest.mark.parametrize("address", ["finished"], indirect=True)
def test_all_pictures_zoom_and_move_together(browser: Chrome, resize: Resize, address: str) -> None:
    resize(1280, "light")
    browser.get(address)
    run_script(
        browser,
        "const zoom = document.getElementById('zoom'); zoom.value = 4;"
        "zoom.dispatchEvent(new Event('input'));"
        "const box = document.querySelector('.stack').getBoundingClientRect();"
        "document.querySelector('.stack').dispatchEvent(new PointerEvent('pointermove',"
        " {clientX: box.left + box.width / 4, clientY: box.top + box.height / 2}));",
    )
    places = cast(
        list[str],
        run_script(
            browser,
            "return [...document.querySelectorAll('.stack')].map(s => ['--zoom', '--x', '--y'].map("
            "n => Math.round(parseFloat(s.style.getPropertyValue(n)))).join())",
        ),
    )
    assert len(places) == 4
    assert set(places) == {"4,25,50"}
