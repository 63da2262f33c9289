"""`gantune profile` on traces and on what it must refuse."""

import json
from pathlib import Path

import pytest

from gantune.cli.profile import profile
from gantune.errors import CheckpointError, UsageError

TRACES = Path(__file__).parents[1] / "traces"


def test_a_trace_is_profiled_as_text_and_as_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    profile(trace=TRACES / "trace_16.json.gz")
    assert capsys.readouterr().out.splitlines()[2].startswith("1. memory layout")
    profile(trace=TRACES / "trace_16.json.gz", json=True)
    assert json.loads(capsys.readouterr().out)["findings"][0]["kind"] == "memory_layout"


def test_two_profiles_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("07", "22"):
        profile(trace=TRACES / f"trace_{name}.json.gz", out=tmp_path / name)
    capsys.readouterr()
    profile(diff=(tmp_path / "07", tmp_path / "22"))
    assert "no longer found: launch bound" in capsys.readouterr().out


def test_nothing_or_two_things_to_profile_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to profile"):
        profile()
    with pytest.raises(UsageError, match="FILE and --trace"):
        profile(tmp_path / "a", trace=tmp_path / "b")


def test_an_empty_trace_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.touch()
    with pytest.raises(CheckpointError, match="is empty") as caught:
        profile(trace=path)
    assert caught.value.exit_code == 3
