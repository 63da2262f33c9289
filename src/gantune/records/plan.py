"""What is done to a network, step by step, in an order that can be replayed."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

StepKind = Literal["transform", "quantize", "export", "engine", "environment"]
Goal = Literal["latency", "throughput", "memory", "size"]


class Step(BaseModel):
    """One change: a transform, rounding to integers, an export, an engine or an environment setting."""

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


class Decision(BaseModel):
    """One question of the decision tree: the answer that was taken, why, and the answers that were not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str
    answer: str
    because: str
    others: tuple[str, ...] = ()


class Plan(BaseModel):
    """Everything a run does; `gantune optimize --plan plan.yaml` replays it.

    `decisions` is the path through the decision tree and `branch` where it ended. `data` names the real
    pictures that Fréchet distances are taken from. People edit plans by hand, so an unknown key is refused,
    never dropped.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    source: str
    source_sha256: str
    family: str
    target: str
    goal: Goal
    seed: int
    batch: int
    threads: int
    image_size: int
    float32_bytes: int = 0
    rounds: int
    precision: str
    budget: dict[str, float]
    image_error: Literal["range", "snr"] = "range"
    samples: str | None = None
    budget_minutes: float | None = None
    data: str | None = None
    num_images: int = 10_000
    branch: str = ""
    decisions: tuple[Decision, ...] = ()
    candidates: tuple[PlannedCandidate, ...]
