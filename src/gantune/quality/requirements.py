"""What a user requires of scores, such as `min_psnr_db=40`: the whole interval must be inside."""

from collections.abc import Sequence
from dataclasses import dataclass

from gantune.errors import QualityError, UsageError
from gantune.records.score import Evaluation


@dataclass(frozen=True)
class Requirement:
    """A bound on one score: the lower end of its interval for `min`, the upper end for `max`."""

    score: str
    is_minimum: bool
    bound: float

    def find_violation(self, evaluation: Evaluation) -> str | None:
        """Say in words why it is not met; None where it is. A score that is not known does not meet it."""
        score = evaluation.scores.get(self.score)
        if score is None:
            if self.score in ("psnr_db", "snr_db") and evaluation.is_identical:
                return None
            why = evaluation.left_out.get(self.score, "it was not computed")
            return f"{self.score} is not known ({why})"
        end = score.low if self.is_minimum else score.high
        value = score.value if end is None else end
        # Written as "not inside" so that a NaN never passes.
        if value >= self.bound if self.is_minimum else value <= self.bound:
            return None
        side = "below" if self.is_minimum else "above"
        which = "" if end is None else f", the {'lower' if self.is_minimum else 'upper'} end of its interval,"
        return f"{self.score} {value:.4g}{which} is {side} {self.bound:g}"


def parse_requirement(text: str) -> Requirement:
    """Read `min_NAME=VALUE` or `max_NAME=VALUE`; raise `UsageError` for anything else."""
    name, equals, value = text.partition("=")
    kind, _, score = name.strip().partition("_")
    try:
        bound = float(value)
    except ValueError:
        bound = float("nan")
    if kind not in ("min", "max") or not score or not equals or bound != bound:
        raise UsageError(
            f"The requirement {text!r} is not min_NAME=VALUE or max_NAME=VALUE, as in min_psnr_db=40."
        )
    return Requirement(score=score, is_minimum=kind == "min", bound=bound)


def require(evaluation: Evaluation, requirements: Sequence[Requirement]) -> None:
    """Raise `QualityError`, naming every violation, where a requirement is not met."""
    violations = [requirement.find_violation(evaluation) for requirement in requirements]
    found = [violation for violation in violations if violation is not None]
    if found:
        raise QualityError(f"The quality required is not there: {'; '.join(found)}.")
