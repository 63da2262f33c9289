"""The terminal summary names the gain against both baselines, each candidate and its reason."""

from gantune.records.fallback import FormFallback
from gantune.records.report import Report
from gantune.records.search import Change, Search
from gantune.reporting import plan_text, render_page, report_text


def test_the_gain_is_stated_against_both_baselines(report: Report) -> None:
    text = report_text(report)
    assert "9.34× (9.06–9.71) against the original as users have it" in text
    assert "3.40× (3.30–3.54) against the original with the tuned allocator" in text
    assert "image quality 46.3 dB" in text


def test_every_candidate_has_a_line_with_its_reason(report: Report) -> None:
    lines = report_text(report).splitlines()
    for candidate in report.candidates:
        line = next(line for line in lines if f"  {candidate.name}  " in line)
        assert line.startswith(candidate.status)
        assert line.endswith(candidate.reason)


def test_a_change_that_was_undone_shows_its_gain_and_no_figures_of_other_rounds(report: Report) -> None:
    one = next(one for one in report.candidates if report.best is not None and one.name != report.best.name)
    undone = Change(
        name="half-threads", candidate=one.name, why="", gain=None, is_kept=False,
        reason="undone: 0.81× (0.80 to 0.82) the leader before it",
    )  # fmt: skip
    told = report.model_copy(update={"search": Search(num_built=1, num_reused=0, changes=(undone,))})
    (line,) = (line for line in report_text(told).splitlines() if f"  {one.name}  " in line)
    assert line.startswith("undone")
    assert line.endswith("  0.81× (0.80 to 0.82) the leader before it")
    assert "ms" not in line
    assert '<span class="status">undone</span>' in render_page(told, [])


def test_what_was_not_tried_is_named_once_for_each_reason(report: Report) -> None:
    skipped = [one for one in report.plan.candidates if one.is_skipped]
    twin = skipped[0].model_copy(update={"name": "its-twin"})
    plan = report.plan.model_copy(update={"candidates": (*report.plan.candidates, twin)})
    lines = [
        line
        for line in report_text(report.model_copy(update={"plan": plan})).splitlines()
        if "not tried" in line
    ]
    why = skipped[0].why.removeprefix("skipped: ")
    assert f"not tried  {skipped[0].name}, its-twin: {why}" in lines
    assert len(lines) == len({one.why for one in skipped})


def test_nothing_kept_ends_with_the_verdict(unfinished_report: Report) -> None:
    text = report_text(unfinished_report)
    assert "best:" not in text
    assert text.splitlines()[-1] == unfinished_report.verdict


def test_a_slower_form_is_told_with_its_reason(report: Report) -> None:
    fallback = FormFallback(
        operation="bias_act", wanted="native", used="portable", reason="not built", subjects=("a", "b")
    )
    told = report.model_copy(update={"fallbacks": (fallback,)})
    expected = "bias_act ran in its portable form instead of native in a, b: not built"
    assert report_text(told).splitlines().count(f"slower form: {expected}") == 1
    assert render_page(told, []).count(f"Slower form: {expected}.") == 1
    assert "lower form" not in report_text(report) + render_page(report, [])


def test_the_text_is_plain(report: Report) -> None:
    assert report_text(report).replace("\n", "").isprintable()


def test_a_plan_names_what_is_tried_and_what_is_not(report: Report) -> None:
    lines = plan_text(report.plan).splitlines()
    assert lines[0].endswith("stylegan2 for cpu, goal latency, budget min psnr db 40, max latency ms 400")
    assert [line[:4] for line in lines[3:]] == ["try "] * 7 + ["skip"]
    assert lines[-1].endswith("This CPU has no FP16 arithmetic: half precision would be emulated.")
