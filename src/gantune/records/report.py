"""The result of a run: both baselines, every candidate, the best one, and what shows it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from gantune.records.candidate import Baseline, Candidate
from gantune.records.fallback import FormFallback
from gantune.records.machine import Machine
from gantune.records.plan import Plan
from gantune.records.score import BandLoss
from gantune.records.search import Search


class NetworkSummary(BaseModel):
    """The network that was brought: where it came from and how large it is."""

    model_config = ConfigDict(frozen=True)

    source: str
    source_sha256: str
    format: str
    family: str
    facts: dict[str, str | int | float | bool | None]
    num_parameters: int
    macs: int
    float32_bytes: int


class LayerTime(BaseModel):
    """The own time of one layer of the original (without the layers it calls), and its share of the whole."""

    model_config = ConfigDict(frozen=True)

    name: str
    kind: str
    time_ms: float
    share: float
    macs: int | None = None


class SpectrumCurve(BaseModel):
    """The azimuthally averaged log power of one subject's images; `power_db[i]` belongs to `frequency[i]`.

    `frequency` is in cycles a pixel, 0 to 0.5.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    frequency: tuple[float, ...]
    power_db: tuple[float, ...]


class CheckItem(BaseModel):
    """One line of the checklist, filled in by the run; `section` names the part of the page that shows it."""

    model_config = ConfigDict(frozen=True)

    phase: Literal["prepare", "optimize", "verify"]
    text: str
    is_done: bool
    detail: str
    section: str = ""


class Energy(BaseModel):
    """The energy of one image, or why it could not be read (`reason`)."""

    model_config = ConfigDict(frozen=True)

    subject: str
    joules_an_image: float | None = None
    source: str = ""
    reason: str = ""


class ExtremeCheck(BaseModel):
    """How the best candidate answered one extreme input."""

    model_config = ConfigDict(frozen=True)

    name: str
    is_finite: bool
    psnr_db: float | None
    snr_db: float | None


class Report(BaseModel):
    """The content of `report.json`; another `schema_version` than this one is refused when read."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    gantune_version: str
    created: str
    command: str
    machine: Machine
    network: NetworkSummary
    plan: Plan
    image_error: Literal["range", "snr"]
    layers: tuple[LayerTime, ...]
    bottleneck: str
    baselines: dict[Literal["as_is", "tuned"], Baseline]
    candidates: tuple[Candidate, ...]
    best: Candidate | None
    verdict: str
    spectra: tuple[SpectrumCurve, ...] = ()
    extremes: tuple[ExtremeCheck, ...] = ()
    first_divergence: str | None = None
    search: Search | None = None
    bands: tuple[BandLoss, ...] = ()
    energy: tuple[Energy, ...] = ()
    fallbacks: tuple[FormFallback, ...] = ()
    checklist: tuple[CheckItem, ...] = ()
