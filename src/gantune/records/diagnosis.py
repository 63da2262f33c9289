"""What is wrong with a conversion, a speed or a quality, found by checks, and what to do about it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Symptom = Literal["conversion failed", "not faster", "quality dropped"]


class CheckedLeaf(BaseModel):
    """One leaf of the troubleshooting tree: what was checked, what was found, and the answer.

    `is_cause` says whether the check found something; `found` is then the evidence, else why not.
    """

    model_config = ConfigDict(frozen=True)

    symptom: Symptom
    name: str
    question: str
    is_cause: bool
    found: str
    answer: str


class Diagnosis(BaseModel):
    """All leaves that were checked for a subject, and the symptoms it shows."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    subject: str
    kind: Literal["checkpoint", "artifact", "run"]
    symptoms: tuple[Symptom, ...]
    leaves: tuple[CheckedLeaf, ...]

    @property
    def causes(self) -> tuple[CheckedLeaf, ...]:
        """List the leaves that found something."""
        return tuple(leaf for leaf in self.leaves if leaf.is_cause)
