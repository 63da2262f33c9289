"""The figures of a benchmark or an acceptance run: `benchmarks/results/<target>.json`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from gantune.records.machine import Machine


class Figure(BaseModel):
    """One measured figure, named in the words of whoever asked for it.

    `low` and `high` are the ends of its interval where it has one. `bar` is what it had to reach (`met` None
    where nothing was asked), and `how` says how it was taken.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None
    bar: str | None = None
    met: bool | None = None
    how: str


class FigureTable(BaseModel):
    """All figures of one target, with the machine, the commit and the date they belong to."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    target: str
    machine: Machine
    commit: str
    date: str
    rows: tuple[Figure, ...]
