"""Profile the planted scripts, faulty and healthy, and judge what is said of them."""

import re
import sys
from pathlib import Path

from publish import ROOT

from gantune.errors import GantuneError
from gantune.records.figures import Figure

sys.path.insert(0, str(ROOT / "tests"))

from planted.cases import Case, find_mistake, profile_case, read_cases


def judge_planted(match: str = "") -> list[Figure]:
    """Give one figure a case whose name matches: the share of the step its first finding claims."""
    rows = []
    for case in read_cases():
        if not re.search(match, case.name):
            continue
        row = _judge(case)
        print(f"{'ok    ' if row.met else 'WRONG '} {row.name}: {row.how}", flush=True)
        rows.append(row)
    right = sum(bool(row.met) for row in rows)
    whole = Figure(
        name="planted scripts judged rightly",
        value=right,
        unit=f"of {len(rows)}",
        bar=f"{len(rows)}",
        met=right == len(rows),
        how="first finding and its function of tests/planted, two styles",
    )
    return [whole, *rows]


def _judge(case: Case) -> Figure:
    bar = f"{case.first} first" + (f", a tiny {case.also}" if case.also else "")
    try:
        findings = profile_case(case).findings
    except GantuneError as error:
        return Figure(name=case.name, value=None, unit="", bar=bar, met=False, how=str(error))
    mistake = find_mistake(case, findings)
    shown = next((one for one in findings if one.kind == (case.also or case.first)), findings[0])
    shares = ", ".join(f"{one.kind} {one.share:.3f}" for one in findings if one.share is not None)
    return Figure(
        name=case.name,
        value=shown.share,
        unit="of the step",
        bar=bar,
        met=mistake is None,
        how=f"{mistake}; {shares}" if mistake else f"{shares}. {shown.evidence[0].text}",
    )


def name_script(name: str) -> list[str]:
    """Give the command that starts a planted script."""
    return [sys.executable, str(Path(ROOT) / "tests" / "planted" / name)]
