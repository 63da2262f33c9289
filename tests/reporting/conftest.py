"""A realistic report, pictures that go with it, and a headless browser to look at it."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from gantune.records.report import Report
from gantune.reporting import Sample, fill_checklist
from report_samples import make_report

BROWSER_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


@pytest.fixture(scope="session")
def report() -> Report:
    return make_report()


@pytest.fixture(scope="session")
def unfinished_report(report: Report) -> Report:
    """A run that kept nothing: the original stays, and half the sections are empty."""
    failed = tuple(one for one in report.candidates if one.status != "kept")
    bare = report.model_copy(
        update={
            "candidates": failed,
            "best": None,
            "spectra": (),
            "bands": (),
            "search": None,
            "energy": (),
            "extremes": (),
            "layers": (),
            "first_divergence": None,
            "verdict": "Nothing inside the budget is faster than the original on this machine.",
        }
    )
    return bare.model_copy(update={"checklist": fill_checklist(bare)})


@pytest.fixture(scope="session")
def samples() -> list[Sample]:
    made = []
    for seed in range(3):
        random = np.random.default_rng(seed)
        coarse = Image.fromarray(random.integers(30, 230, (6, 6, 3), dtype=np.uint8))
        picture = np.asarray(
            coarse.resize((540, 520) if seed == 0 else (220, 220), Image.Resampling.BICUBIC), dtype=np.float32
        )
        picture = (picture / 255).astype(np.float32)
        noisy = (picture + random.normal(0, 0.004, picture.shape)).astype(np.float32)
        made.append(Sample(title=f"seed {seed}", before=picture, after=noisy))
    small = np.random.default_rng(3).random((32, 32, 3), dtype=np.float32)
    return [*made, Sample(title="a small one", before=small, after=small)]


@pytest.fixture(scope="session")
def axe_source() -> str:
    path = Path(__file__).parents[2] / ".cache/axe-core/package/axe.min.js"
    if not path.exists():
        pytest.skip(f"{path} is absent: run `make axe` (needs npm)")
    return path.read_text()


Browser = webdriver.Chrome


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromedriver are absent: install them with the system's package manager")
    options = Options()
    options.binary_location = chromium
    for flag in (*BROWSER_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = Service(driver, log_output=subprocess.DEVNULL)
    window = webdriver.Chrome(options=options, service=service)
    yield window
    window.quit()


@pytest.fixture
def resize(browser: Browser) -> Callable[[int, str], None]:
    """Give a function that sets the viewport's width in CSS pixels and the color scheme."""

    def set_viewport(width: int, scheme: str) -> None:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        execute = cast(Callable[[str, dict[str, object]], object], browser.execute_cdp_cmd)
        execute("Emulation.setDeviceMetricsOverride", cast(dict[str, object], metrics))
        feature = {"name": "prefers-color-scheme", "value": scheme}
        execute("Emulation.setEmulatedMedia", {"features": [feature]})

    return set_viewport
