"""The planted set: scripts with one fault each and healthy ones, and what the profiler must say of them."""

import ast
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from gantune.profiling.launch.options import WatchOptions
from gantune.profiling.script_profile import profile_script
from gantune.records.profile import Finding, FindingKind, Profile

FOLDER = Path(__file__).parent
# A cause that is named beside "nothing to mend" must be said to cost less than this.
TINY_SHARE = 0.05


@dataclass(frozen=True)
class Case:
    """A script, how it is started, the kind its first finding must have, and the function it must point to.

    `also` is a kind that must be among the findings, with its share said to be tiny.
    """

    name: str
    script: str
    arguments: tuple[str, ...]
    first: FindingKind
    function: str | None = None
    also: FindingKind | None = None


def read_cases() -> list[Case]:
    """Give every case of the planted set, faults before controls."""
    planted = json.loads((FOLDER / "planted.json").read_text())
    found = []
    for place, script in enumerate(planted["scripts"]):
        style = script.removesuffix(".py").replace("_", " ")
        for fault in planted["faults"]:
            function = fault["functions"][place] if "functions" in fault else None
            arguments = ("--fault", fault["fault"])
            name = f"{fault['name']}, {style}"
            found.append(Case(name, script, arguments, fault["first"], function, fault.get("also")))
        for control in planted["controls"]:
            name, arguments = f"{control['name']}, {style}", tuple(control["arguments"])
            found.append(Case(name, script, arguments, control["first"]))
    return found


def profile_case(case: Case) -> Profile:
    """Profile the case's script as a user would, and end it then."""
    command = [sys.executable, str(FOLDER / case.script), "--steps", "1000000", *case.arguments]
    options = WatchOptions(folder=Path(), is_stopping=True)
    found = profile_script(command, options, command_line="planted", is_quiet=True)
    return found.profiles[0][0]


def find_mistake(case: Case, findings: tuple[Finding, ...]) -> str | None:
    """Say what is wrong with the findings of a case, None where they are right."""
    first = findings[0]
    if first.kind != case.first:
        return f"names {first.kind} first, not {case.first}"
    lines = [evidence.source_line or "" for evidence in first.evidence]
    if case.function is not None and not set(_lines_of(case.script, case.function)) & {
        int(line.rsplit(":", 1)[1]) for line in lines if line.rsplit(":", 1)[0].endswith(case.script)
    }:
        return f"points to {lines}, not to {case.function}"
    if case.also is not None:
        shares = [finding.share for finding in findings if finding.kind == case.also]
        if len(shares) != 1 or shares[0] is None or not 0 < shares[0] < TINY_SHARE:
            return f"gives {case.also} the shares {shares}"
    return None


def _lines_of(script: str, function: str) -> range:
    """Give the lines of a function of a planted script."""
    tree = ast.parse((FOLDER / script).read_text())
    found = next(
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function
    )
    assert found.end_lineno is not None
    return range(found.lineno, found.end_lineno + 1)
