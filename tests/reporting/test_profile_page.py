"""The profile's page in a real browser: accessible, silent, narrow enough, and quick with 100,000 events."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By

from gantune.profiling.run import profile_trace
from trace_writer import Event, event, kernel, launch, steps, write_trace

Resize = Callable[[int, str], None]
TRACES = Path(__file__).parents[1] / "traces"


@pytest.fixture(scope="module", params=["01", "07", "16", "22"])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("profile")
    profile_trace(TRACES / f"trace_{request.param}.json.gz", command="gantune profile", out=folder)
    return (folder / "profile.html").as_uri()


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


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_scrolls_sideways(browser: Chrome, resize: Resize, address: str, width: int) -> None:
    resize(width, "light")
    browser.get(address)
    assert run_script(
        browser, "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )


def test_the_console_is_silent_and_nothing_is_fetched(browser: Chrome, address: str) -> None:
    browser.get("about:blank")
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    browser.get_log("performance")  # type: ignore[no-untyped-call]
    browser.get(address)
    assert not browser.get_log("browser")  # type: ignore[no-untyped-call]
    messages = browser.get_log("performance")  # type: ignore[no-untyped-call]
    asked = [json.loads(message["message"])["message"] for message in messages]
    urls = [one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"]
    assert not [url for url in urls if url != address and not url.startswith("data:")]


def test_every_figure_leads_back_to_the_json(tmp_path: Path) -> None:
    profile_trace(TRACES / "trace_01.json.gz", command="", out=tmp_path)
    document = json.loads((tmp_path / "profile.json").read_text())
    page = (tmp_path / "profile.html").read_text()
    figures = re.findall(r'<data value="([^"]+)" data-source="([^"]+)"', page)
    assert len(figures) > 100
    for value, path in figures:
        found = document
        for key in path.split("."):
            found = found[int(key) if isinstance(found, list) else key]
        assert float(value) == found


def test_names_cannot_break_out_of_the_page(browser: Chrome, tmp_path: Path) -> None:
    name = "</script><script>console.error(1)</script><!-- \u2028 \x01"
    events: list[Event] = [*steps(1, 100), event("cpu_op", name, 0, 90)]
    profile_trace(write_trace(tmp_path / "t.json", events), command=name, out=tmp_path / "out")
    browser.get("about:blank")
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    browser.get((tmp_path / "out" / "profile.html").as_uri())
    assert not browser.get_log("browser")  # type: ignore[no-untyped-call]
    assert "shown" in browser.find_element(By.CSS_SELECTOR, ".range").text


def test_the_keyboard_zooms_and_moves(browser: Chrome, resize: Resize, address: str) -> None:
    if "22" in address:
        pytest.skip("one page is enough")
    resize(1280, "light")
    browser.get(address)
    span = browser.find_element(By.CSS_SELECTOR, ".range")
    whole = span.text
    canvas = browser.find_element(By.CSS_SELECTOR, ".timeline canvas")
    canvas.send_keys("+")
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    closer = span.text
    canvas.send_keys(Keys.ARROW_RIGHT)
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert len({whole, closer, span.text}) == 3


ZOOM = """
const done = arguments[0], button = (name) => document.querySelector(`[data-action=${name}]`);
const order = [...Array(14).fill("in"), ...Array(8).fill("right"), ...Array(14).fill("out")];
const frames = [];
let last = performance.now(), index = 0;
const next = (now) => {
  if (index > 0) frames.push(performance.now() - last);
  last = performance.now();
  if (index === order.length) { done(frames); return; }
  button(order[index]).click();
  index += 1;
  requestAnimationFrame(next);
};
requestAnimationFrame(next);
"""


def many_events() -> list[Event]:
    """100,000 events: three depths of operators, launches, and kernels on a stream."""
    events: list[Event] = steps(10, 200_000)
    for i in range(20_000):
        at = i * 100.0
        events += [
            event("cpu_op", f"aten::outer{i % 50}", at, 90),
            event("cpu_op", f"aten::inner{i % 70}", at + 5, 70),
            event("cpu_op", f"aten::leaf{i % 90}", at + 10, 40),
            launch(at + 15, link=i + 1, duration_us=8),
            kernel(f"kernel_{i % 300}_of_a_long_name", at + 30, 60, link=i + 1),
        ]
    return events


@pytest.mark.slow
def test_zooming_through_100_000_events_takes_at_most_50_ms_a_frame(
    browser: Chrome, resize: Resize, tmp_path: Path
) -> None:
    profile_trace(write_trace(tmp_path / "t.json", many_events()), command="", out=tmp_path / "out")
    resize(1280, "light")
    browser.get((tmp_path / "out" / "profile.html").as_uri())
    frames = sorted(cast(list[float], browser.execute_async_script(ZOOM)))
    assert len(frames) == 36
    assert frames[len(frames) // 2] <= 50
