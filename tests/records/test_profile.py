"""A profile as a table and as a file."""

from pathlib import Path

from gantune.profiling.comparison import read_profile
from gantune.records.candidate import Interval
from gantune.records.profile import Evidence, ExpectedGain, Finding, Profile

FINDINGS = (
    Finding(
        kind="data_loading",
        share=0.5,
        evidence=(Evidence(text="The step waits."),),
        confidence="high",
        remedy="Load in workers.",
        expected_gain=ExpectedGain(low=1, high=2),
    ),
    Finding(
        kind="threads",
        share=None,
        evidence=(),
        confidence="low",
        remedy="Take fewer.",
        measured_gain=Interval(median=1.5, low=1.4, high=1.6),
    ),
)
PROFILE = Profile(
    gantune_version="0",
    created="2026-01-01",
    command="gantune profile",
    subject="trace",
    source="t.json",
    framework="PyTorch",
    window_ms=10,
    num_steps=1,
    findings=FINDINGS,
)


def test_the_table_has_a_line_for_each_finding() -> None:
    assert PROFILE.table().splitlines() == [
        "finding       share  gain            confidence  evidence",
        "data_loading  50.0%  up to 2.00×     high        The step waits.",
        "threads       –      1.50× measured  low         –",
    ]


def test_a_written_profile_is_read_back_equal(tmp_path: Path) -> None:
    PROFILE.to_json(tmp_path / "profile.json")
    assert read_profile(tmp_path / "profile.json") == PROFILE
