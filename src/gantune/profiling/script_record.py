"""What a watched script recorded beside its trace, read from the file that its process wrote."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from gantune.errors import ScriptError


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Loader(_Part):
    """How the script's DataLoader was set."""

    workers: int = 0
    is_persistent: bool = False
    is_pinned: bool = False
    prefetch: int | None = None
    batch_size: int | None = None


class OptimizerFacts(_Part):
    """One optimizer, in the order of first steps."""

    kind: str
    is_fused: bool = False
    foreach: bool | None = None
    num_weights: int = 0
    num_trained: int = 0


class StageRecord(_Part):
    """What was seen in one stage; times in nanoseconds of the wall clock.

    `optimizer_steps` are (optimizer, start, end); `grads` (start, end, differentiable, of an image);
    `no_grads` (start, end, line) of regions in which nothing is differentiated; `roots` (network, its input
    is a leaf that needs a gradient, start, end); `samples` ([line, phase], start, end, looks).
    """

    boundaries: tuple[int, ...] = ()
    optimizer_steps: tuple[tuple[int, int, int], ...] = ()
    loads: tuple[tuple[int, int], ...] = ()
    backwards: tuple[tuple[int, int], ...] = ()
    grads: tuple[tuple[int, int, bool, bool], ...] = ()
    no_grads: tuple[tuple[int, int, str | None], ...] = ()
    roots: tuple[tuple[int, bool, int, int], ...] = ()
    modules: tuple[tuple[str, int, int], ...] = ()
    samples: tuple[tuple[tuple[str, str | None] | None, int, int, int], ...] = ()

    @property
    def step_ms(self) -> list[float]:
        """Give the milliseconds of each whole step."""
        return [float(length) / 1e6 for length in np.diff(np.array(self.boundaries, dtype=np.int64))]


class ScriptRecord(_Part):
    """The record of one process."""

    stage: str
    source: str | None
    num_steps: int
    process_id: int
    thread_id: int
    torch: str
    threads: int
    num_cores: int
    rank: int | None = None
    window_end_ns: int
    trace_bytes: int = 0
    is_limited: bool = False
    is_cut: bool = False
    problem: str | None = None
    exception: str | None = None
    batch_size: int | None = None
    loader: Loader | None = None
    optimizers: tuple[OptimizerFacts, ...] = ()
    roles: tuple[str | None, ...] = ()
    root_owners: tuple[int | None, ...] = ()
    reference_operations: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    remedy_notes: dict[str, str] = {}
    losses: tuple[tuple[int, float], ...] = ()
    minor_faults: float | None = None
    system_ms: float | None = None
    run_delay_share: float | None = None
    peak_bytes: int = 0
    onednn: bool = True
    mkl: bool = True
    cuda: bool = False
    cudnn_benchmark: bool = False
    cudnn_deterministic: bool = False
    deterministic: bool = False
    anomaly_detection: bool = False
    matmul_precision: str = "highest"
    default_dtype: str = "float32"
    stages: dict[str, StageRecord] = {}

    def stage_named(self, name: str) -> StageRecord:
        """Give a stage, empty where the script did not get that far."""
        return self.stages.get(name, StageRecord())

    @property
    def as_is_ms(self) -> float | None:
        """Give the median step without a profiler, None where no whole step was timed."""
        times = self.stage_named("plain").step_ms
        return float(np.median(times)) if times else None


@dataclass(frozen=True)
class RecordedScript:
    """One process's record and its trace, where it got as far as that."""

    record: ScriptRecord
    trace: Path | None


def read_record(folder: Path) -> RecordedScript:
    """Read what a process left in its folder; raise `ScriptError` where it is not whole."""
    try:
        record = ScriptRecord.model_validate(json.loads((folder / "record.json").read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ScriptError(
            f"The record of the script's process is damaged: {error}. Profile it again."
        ) from error
    trace = folder / "trace.json"
    return RecordedScript(record, trace if record.trace_bytes and trace.exists() else None)
