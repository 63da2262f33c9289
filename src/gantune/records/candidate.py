"""One candidate: a way to run the network, what it cost, how its images compare, and whether it is kept."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from gantune.records.measurement import Interval, Latency, Measurement
from gantune.records.plan import Step
from gantune.records.quality import PairedQuality

Status = Literal["kept", "rejected", "failed"]


class Baseline(BaseModel):
    """The original network: `as_is`, as its users have it, or `tuned`, with the tuned allocator."""

    model_config = ConfigDict(frozen=True)

    name: Literal["as_is", "tuned"]
    description: str
    environment: dict[str, str]
    measured: Measurement
    size_bytes: int


class Throughput(BaseModel):
    """Images a second at one batch size, of a candidate and of the tuned original in the same rounds."""

    model_config = ConfigDict(frozen=True)

    batch_size: int
    images_s: float
    speedup_tuned: Interval | None = None


class Candidate(BaseModel):
    """One tried combination; a figure is None where the candidate failed before it was known.

    `plan` holds the steps from the original to this candidate. `is_exact` is the paired check
    max |a−b| ≤ 1e-4 · max(1, max|b|). `precision_used` is what the engine reports, not what was asked.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    engine: str
    plan: tuple[Step, ...]
    why: str
    status: Status
    reason: str
    latency_ms: Latency | None = None
    throughput_images_s: float | None = None
    throughput: tuple[Throughput, ...] = ()
    peak_bytes: int | None = None
    live_tensor_bytes: int | None = None
    minor_faults_per_call: float | None = None
    load_ms: float | None = None
    first_call_ms: float | None = None
    size_bytes: int | None = None
    speedup_as_is: Interval | None = None
    speedup_tuned: Interval | None = None
    quality: PairedQuality | None = None
    is_exact: bool | None = None
    precision_used: str | None = None
    allocator: str = "default"
    integer_macs_share: float | None = None
