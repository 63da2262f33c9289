from pathlib import Path

import pytest

from gantune.errors import CheckpointError
from gantune.records.report import Report
from gantune.reporting.runs import (
    HEADER,
    NamedReport,
    find_cautions,
    list_rows,
    read_reports,
    write_runs_page,
)


def write(folder: Path, report: Report) -> Path:
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(report.model_dump_json())
    return folder


def test_runs_of_one_folder_name_are_numbered(report: Report, tmp_path: Path) -> None:
    folders = [write(tmp_path / parent / "run", report) for parent in "ab"]
    assert [run.name for run in read_reports(folders)] == ["run", "run#2"]


def test_a_row_says_what_the_best_gained(report: Report) -> None:
    (row,) = list_rows([NamedReport("a", report)])
    told = dict(zip(HEADER, row, strict=True))
    assert told["best"] == "openvino bf16 convolutions, float32 filters"
    assert told["latency"] == "196 ms"
    assert told["against tuned"] == "3.40× (3.30–3.54)"
    assert told["quality"] == "46.3 dB"


def test_a_run_that_keeps_nothing_keeps_the_original(unfinished_report: Report) -> None:
    (row,) = list_rows([NamedReport("a", unfinished_report)])
    assert row[2:4] == ("the original", "–")


def test_what_cannot_be_compared_is_said(report: Report) -> None:
    same = [NamedReport("a", report), NamedReport("b", report)]
    assert find_cautions(same) == []
    machine = report.machine.model_copy(update={"processor": "another"})
    other = [same[0], NamedReport("b", report.model_copy(update={"machine": machine}))]
    assert find_cautions(other) == [
        "The runs differ in their processors: times and decibels are not to be compared."
    ]


def test_the_page_is_whole_and_escaped(report: Report, tmp_path: Path) -> None:
    hostile = report.model_copy(update={"verdict": "<script>alert(1)</script>"})
    write_runs_page([NamedReport("a", report), NamedReport("<b>", hostile)], tmp_path / "runs.html")
    page = (tmp_path / "runs.html").read_text()
    assert "<script>" not in page
    assert "3.40× (3.30–3.54)" in page
    assert "https://" not in page


@pytest.mark.parametrize("content", [None, "{", '{"schema_version": 7}'])
def test_a_folder_without_a_report_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "report.json").write_text(content)
    with pytest.raises(CheckpointError, match="report"):
        read_reports([tmp_path])
