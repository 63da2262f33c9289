"""What is done to a network, step by step, in an order that can be replayed."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

StepKind = Literal["transform", "quantize", "export", "engine", "environment"]
Goal = Literal["latency", "throughput", "memory", "size"]
# A candidate's name is also the name of its folder, so a plan from elsewhere must not point out of the run.
CandidateName = Annotated[str, Field(pattern=r"^[^/\\.\x00-\x1f][^/\\\x00-\x1f]*$", max_length=150)]
Bound = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Step(BaseModel):
    """One change: a transform, rounding to integers, an export, an engine or an environment setting."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: StepKind
    name: str
    options: dict[str, str | int | float | bool] = {}


class PlannedCandidate(BaseModel):
    """One line of the decision tree: what to try and the rule that proposes or skips it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: CandidateName
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
    seed: int = Field(ge=0)
    batch: int = Field(ge=1)
    threads: int = Field(ge=1)
    image_size: int = Field(ge=8)
    float32_bytes: int = 0
    rounds: int = Field(ge=3)
    precision: str
    budget: dict[str, Bound]
    image_error: Literal["range", "snr"] = "range"
    samples: str | None = None
    budget_minutes: Bound | None = None
    data: str | None = None
    num_images: int = Field(default=10_000, ge=2)
    branch: str = ""
    decisions: tuple[Decision, ...] = ()
    candidates: tuple[PlannedCandidate, ...]

    @model_validator(mode="after")
    def _names_differ(self) -> "Plan":
        names = [candidate.name for candidate in self.candidates]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"candidates with the same name: {', '.join(twice)}")
        return self
