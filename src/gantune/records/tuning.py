"""What tuning a training script tried, what it kept, and how to make that permanent."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from gantune.records.candidate import Interval

AttemptStatus = Literal["kept", "rejected", "failed", "not_tried"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class Attempt(_Record):
    """One remedy tried on top of what was kept before: its paired gain, and the verdict."""

    name: str
    status: AttemptStatus
    reason: str
    round: int
    steps_s: float | None = None
    gain: Interval | None = None


class Bottleneck(_Record):
    """The first finding of the profile after a change."""

    after: str
    kind: str
    share: float | None
    text: str


class Tuning(_Record):
    """The whole run; `environment` and `lines` make what was kept permanent."""

    schema_version: Literal[1] = 1
    command: tuple[str, ...]
    before_steps_s: float
    after_steps_s: float
    gain: Interval
    attempts: tuple[Attempt, ...]
    kept: tuple[str, ...]
    bottlenecks: tuple[Bottleneck, ...]
    stopped_because: str
    environment: dict[str, str]
    lines: tuple[str, ...]
    permanent_command: str
