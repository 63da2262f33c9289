"""One candidate: a way to run the network, what it cost, how its images compare, and whether it is kept."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from gantune.records.plan import Step

Status = Literal["kept", "rejected", "failed"]


class Latency(BaseModel):
    """The time of one call at the stated batch size, in milliseconds, over `n` timed calls."""

    model_config = ConfigDict(frozen=True)

    p50: float
    p90: float
    mean: float
    n: int


class Interval(BaseModel):
    """A median with the ends of its 95 % bootstrap interval."""

    model_config = ConfigDict(frozen=True)

    median: float
    low: float
    high: float


class ImageQuality(BaseModel):
    """The output compared with the original's on the same inputs; decibels except `ssim` and `max_abs`.

    `psnr_db` and `snr_db` are None where the images are identical. The `…_range` are 95 % bootstrap
    intervals over the images. `frechet` and `frechet_loss` (the upper end of its interval) are None where no
    real pictures were named and no loss is bounded.
    """

    model_config = ConfigDict(frozen=True)

    psnr_db: float | None
    snr_db: float | None
    identical: bool
    ssim: float
    max_abs: float
    is_exact: bool
    spectrum_db: float
    psnr_range: Interval | None = None
    snr_range: Interval | None = None
    ssim_range: Interval | None = None
    frechet: float | None = None
    frechet_loss: float | None = None


class Throughput(BaseModel):
    """Images a second at one batch size."""

    model_config = ConfigDict(frozen=True)

    batch: int
    images_s: float


class Measurement(BaseModel):
    """What a subject cost in its own process: time, memory, faults."""

    model_config = ConfigDict(frozen=True)

    latency_ms: Latency
    throughput: tuple[Throughput, ...] = ()
    throughput_images_s: float
    peak_bytes: int
    live_bytes: int | None = None
    minor_faults: float
    load_ms: float
    first_call_ms: float


class Baseline(BaseModel):
    """The original network: `as_is`, as its users have it, or `tuned`, with the tuned allocator."""

    model_config = ConfigDict(frozen=True)

    name: Literal["as_is", "tuned"]
    description: str
    environment: dict[str, str]
    measured: Measurement
    size_bytes: int


class Candidate(BaseModel):
    """One tried combination; the measured fields are None where it failed before they were known."""

    model_config = ConfigDict(frozen=True)

    name: str
    engine: str
    plan: tuple[Step, ...]
    why: str
    measured: Measurement | None = None
    latency_ms: Latency | None = None
    throughput_images_s: float | None = None
    peak_bytes: int | None = None
    size_bytes: int | None = None
    speedup_as_is: Interval | None = None
    speedup_tuned: Interval | None = None
    quality: ImageQuality | None = None
    precision_used: str | None = None
    integer_macs_share: float | None = None
    status: Status
    reason: str
