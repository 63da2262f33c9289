"""Diagnose a checkpoint, an artifact or a run: run every leaf that applies, and give the answers."""

from pathlib import Path

from gantune.optimizing.troubleshooting.case import Case, open_case
from gantune.optimizing.troubleshooting.leaf import Leaf
from gantune.optimizing.troubleshooting.tree import LEAVES
from gantune.records.diagnosis import CheckedLeaf, Diagnosis, Symptom

_KINDS: dict[Symptom, tuple[str, ...]] = {
    "conversion failed": ("checkpoint", "artifact", "run"),
    "not faster": ("artifact", "run"),
    "quality dropped": ("run",),
}


def diagnose(path: Path) -> Diagnosis:
    """Check what is at `path` against every leaf that applies to its kind.

    A checkpoint is loaded and exported, an artifact is loaded and run, a run's report is read. Raises
    `UsageError` where there is nothing to diagnose.
    """
    case = open_case(path)
    leaves = tuple(_check(leaf, case) for leaf in LEAVES if case.kind in _KINDS[leaf.symptom])
    return Diagnosis(
        subject=case.subject,
        kind=case.kind,
        symptoms=find_symptoms(case, leaves),
        leaves=leaves,
    )


def find_symptoms(case: Case, leaves: tuple[CheckedLeaf, ...]) -> tuple[Symptom, ...]:
    """Say what the subject suffers from: what its checks found, and what a run's candidates ended with."""
    found: list[Symptom] = [leaf.symptom for leaf in leaves if leaf.is_cause]
    if case.report is not None:
        reasons = [one.reason for one in case.report.candidates if one.status == "rejected"]
        if any(one.status == "failed" for one in case.report.candidates):
            found.append("conversion failed")
        if any(reason.startswith("not faster") for reason in reasons):
            found.append("not faster")
    return tuple(symptom for symptom in _KINDS if symptom in found)


def _check(leaf: Leaf, case: Case) -> CheckedLeaf:
    evidence = leaf.check(case)
    return CheckedLeaf(
        symptom=leaf.symptom,
        name=leaf.name,
        question=leaf.question,
        is_cause=bool(evidence),
        found=evidence or "nothing found",
        answer=leaf.answer,
    )
