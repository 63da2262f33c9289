import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from report_samples import make_report

Run = Callable[..., Any]


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(make_report().model_dump_json())
    return [tmp_path / "a", tmp_path / "b"]


def test_one_run_is_told_and_several_are_compared(gantune: Run, runs: list[Path]) -> None:
    one = gantune("report", runs[0])
    assert one.code == 0, one.err
    assert "bottleneck:" in one.out
    both = json.loads(gantune("report", *runs, "--json").out)
    assert [run["run"] for run in both["runs"]] == ["a", "b"]
    assert both["cautions"] == []


def test_a_page_is_written_once(gantune: Run, runs: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert gantune("report", *runs, "--out", page).code == 0
    assert "2 runs" in page.read_text()
    assert gantune("report", *runs, "--out", page).code == 9
    assert gantune("report", *runs, "--out", page, "--overwrite").code == 0


def test_a_folder_that_is_no_run_is_refused(gantune: Run, tmp_path: Path) -> None:
    assert gantune("report", tmp_path).code == 3
