"""What one candidate's process measured, and how two of them compare."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Interval(BaseModel):
    """Give a figure with its 95 % bootstrap interval."""

    model_config = ConfigDict(frozen=True)

    median: float
    low: float
    high: float


class Latency(BaseModel):
    """Summarize the durations of `n` calls, in milliseconds."""

    model_config = ConfigDict(frozen=True)

    p50: float
    p90: float
    mean: float
    n: int = Field(ge=1)


class Measurement(BaseModel):
    """Hold everything one process measured for one subject.

    `peak_bytes` is the process's peak resident memory, `live_tensor_bytes` the parameters and buffers alive in
    it (None without torch), `minor_faults_per_call` the median of page faults a call. `allocator` says what the
    process ran with. `reason` is one sentence where `status` is failed; the figures are then None.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    status: Literal["measured", "failed"]
    reason: str | None = None
    batch_size: int = Field(ge=1)
    threads: int | None = None
    allocator: str = "default"
    precision_used: str | None = None
    load_ms: float | None = None
    first_call_ms: float | None = None
    latency_ms: Latency | None = None
    throughput_images_s: float | None = None
    peak_bytes: int | None = None
    live_tensor_bytes: int | None = None
    minor_faults_per_call: float | None = None


class Comparison(BaseModel):
    """Hold measurements taken in the same interleaved rounds, and each one's speedup over the baselines.

    `speedups[name][baseline]` is the median of the paired per-round ratios baseline/name, with its interval; a
    subject or baseline that failed has no entry. `num_rounds` counts the rounds done; `is_complete` is False
    where the time budget ended them early.
    """

    model_config = ConfigDict(frozen=True)

    measurements: tuple[Measurement, ...]
    speedups: dict[str, dict[str, Interval]]
    num_rounds: int = Field(ge=0)
    is_complete: bool

    def measurement(self, name: str) -> Measurement:
        """Return the measurement of the subject called `name`; raise KeyError where there is none."""
        for measurement in self.measurements:
            if measurement.name == name:
                return measurement
        raise KeyError(name)
