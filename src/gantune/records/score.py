"""A score with its identity: what was computed, from which features, weights, resize, pixels and images."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Verdict = Literal["better", "worse", "no difference shown"]


class ScoreIdentity(BaseModel):
    """Everything that must be equal before two scores may be compared.

    `weights_sha256` is None where nothing was learned, `reference_sha256` where there is no reference data.
    `pixels` says whether values were rounded to 8 bits, as in a picture file, or not.
    """

    model_config = ConfigDict(frozen=True)

    metric: str = Field(min_length=1)
    features: str = Field(min_length=1)
    weights_sha256: str | None = None
    resize: str = "none"
    pixels: Literal["uint8", "float"] = "uint8"
    num_images: int = Field(ge=1)
    reference_sha256: str | None = None
    settings: dict[str, float] = {}


class Score(BaseModel):
    """One figure with its identity, its 95 % interval where it has one, and what to be careful about."""

    model_config = ConfigDict(frozen=True)

    value: float
    unit: str = ""
    low: float | None = None
    high: float | None = None
    identity: ScoreIdentity
    details: dict[str, float] = {}
    warnings: tuple[str, ...] = ()


class Difference(BaseModel):
    """A paired difference, new − old, with its 95 % bootstrap interval over `n` pairs, and what it shows."""

    model_config = ConfigDict(frozen=True)

    value: float
    low: float
    high: float
    n: int
    verdict: Verdict
    method: str


class BandLoss(BaseModel):
    """What one band of frequencies, in cycles a pixel, lost.

    `power_change_db` is the candidate's power over the reference's; `error_db` the power of their difference
    over the reference's (None where there is no difference).
    """

    model_config = ConfigDict(frozen=True)

    low_frequency: float
    high_frequency: float
    power_change_db: float
    error_db: float | None


class Evaluation(BaseModel):
    """All scores of one subject, the differences from what it was held against, and what was left out.

    `is_identical` says whether every pair of images is the same, None where no pairs were compared.
    """

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    subject: str
    against: str | None = None
    reference: str | None = None
    scores: dict[str, Score] = {}
    differences: dict[str, Difference] = {}
    bands: tuple[BandLoss, ...] = ()
    is_identical: bool | None = None
    left_out: dict[str, str] = {}
