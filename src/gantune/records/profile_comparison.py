"""How two profiles differ."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class TimeChange(BaseModel):
    """The time of one part before and after, a step; None where one profile does not have it."""

    model_config = ConfigDict(frozen=True)

    name: str
    before_ms: float | None
    after_ms: float | None
    difference_ms: float
    is_significant: bool


class ProfileComparison(BaseModel):
    """Changes by wall part, phase, operator and layer, largest first; less than `noise` means nothing."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    before: str
    after: str
    noise: float
    total: TimeChange
    wall: tuple[TimeChange, ...]
    phases: tuple[TimeChange, ...]
    operators: tuple[TimeChange, ...]
    layers: tuple[TimeChange, ...]
    findings_gone: tuple[str, ...]
    findings_new: tuple[str, ...]
