"""What is done to a network, step by step, in an order that can be replayed."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

StepKind = Literal["transform", "export", "engine", "environment"]


class Step(BaseModel):
    """One change: a transform, an export, an engine or an environment setting, with its options."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: StepKind
    name: str
    options: dict[str, str | int | float | bool] = {}


class PlannedCandidate(BaseModel):
    """One line of the decision tree: what to try and the rule that proposes or skips it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    engine: str
    precision: Literal["fp32", "bf16", "fp16", "int8"]
    steps: tuple[Step, ...]
    why: str
    is_skipped: bool = False


class Plan(BaseModel):
    """Everything a run does; `gantune optimize --plan plan.yaml` replays it.

    People edit plans by hand, so an unknown key is refused, never dropped.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    source: str
    source_sha256: str
    family: str
    target: str
    goal: Literal["latency", "throughput"]
    seed: int
    batch: int
    threads: int
    image_size: int
    rounds: int
    precision: str
    budget: dict[str, float]
    image_error: Literal["range", "snr"] = "range"
    samples: str | None = None
    budget_minutes: float | None = None
    candidates: tuple[PlannedCandidate, ...]
