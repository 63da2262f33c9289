"""A leaf of the troubleshooting tree: a question, the check that answers it, and what to do then."""

from collections.abc import Callable
from dataclasses import dataclass

from gantune.optimizing.troubleshooting.case import Case
from gantune.records.diagnosis import Symptom


@dataclass(frozen=True)
class Leaf:
    """One possible cause; `check` returns the evidence for it, or "" where it is not the cause."""

    symptom: Symptom
    name: str
    question: str
    check: Callable[[Case], str]
    answer: str
