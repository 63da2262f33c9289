"""Scores are compared only where everything they were computed from is the same."""

from gantune.errors import UsageError
from gantune.records.score import Score


def subtract_scores(new: Score, old: Score) -> float:
    """Give new − old; raise `UsageError`, naming what differs, for scores of different identity."""
    a, b = new.identity.model_dump(), old.identity.model_dump()
    different = [f"{name} ({a[name]} and {b[name]})" for name in a if a[name] != b[name]]
    if different:
        raise UsageError(
            f"The two scores cannot be compared: they differ in {', '.join(different)}. Compute both the "
            "same way."
        )
    return new.value - old.value
