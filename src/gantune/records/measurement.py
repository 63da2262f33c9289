"""Subjects measured side by side in the same interleaved rounds, and how they compare."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from gantune.records.candidate import Interval, Measurement
from gantune.records.fallback import FormFallback


class SubjectResult(BaseModel):
    """What one subject's own process measured, or the one sentence that says why it could not.

    `precision_used` was read back from the engine; `environment` is what was set for the process; `allocator`
    is what it really ran with. `fallbacks` are the slower forms of operations that its process took.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    status: Literal["measured", "failed"]
    reason: str = ""
    batch_size: int = Field(ge=1)
    threads: int | None = None
    allocator: str = "default"
    environment: dict[str, str] = {}
    precision_used: str | None = None
    fallbacks: tuple[FormFallback, ...] = ()
    measured: Measurement | None = None


class Comparison(BaseModel):
    """Hold the results of one run of interleaved rounds, and each subject's speedup over the others.

    `speedups[name][baseline]` is the median of the paired per-round ratios baseline ÷ name with its interval;
    a pair with a failed subject has no entry. `is_complete` is False where the budget or a clear
    answer ended the rounds early. `stopped` says why a subject was not measured in every round.
    """

    model_config = ConfigDict(frozen=True)

    results: tuple[SubjectResult, ...]
    speedups: dict[str, dict[str, Interval]]
    num_rounds: int = Field(ge=0)
    is_complete: bool
    stopped: dict[str, str] = {}

    def result(self, name: str) -> SubjectResult:
        """Return the result of the subject called `name`; raise KeyError where there is none."""
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(name)
