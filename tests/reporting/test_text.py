"""The terminal summary names the gain against both baselines, each candidate and its reason."""

from gantune.records.report import Report
from gantune.reporting import summarize


def test_the_gain_is_stated_against_both_baselines(report: Report) -> None:
    text = summarize(report)
    assert "9.34× (9.06–9.71) against the original as users have it" in text
    assert "3.40× (3.30–3.54) against the original with the tuned allocator" in text
    assert "image quality 46.3 dB" in text


def test_every_candidate_has_a_line_with_its_reason(report: Report) -> None:
    lines = summarize(report).splitlines()
    for candidate in report.candidates:
        line = next(line for line in lines if f"  {candidate.name}  " in line)
        assert line.startswith(candidate.status)
        assert line.endswith(candidate.reason)


def test_nothing_kept_ends_with_the_verdict(unfinished_report: Report) -> None:
    text = summarize(unfinished_report)
    assert "best:" not in text
    assert text.splitlines()[-1] == unfinished_report.verdict


def test_the_text_is_plain(report: Report) -> None:
    assert summarize(report).replace("\n", "").isprintable()
