"""What a profile found: where the time goes, why, and what to do about it; the content of `profile.json`."""

from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from gantune.records.candidate import Interval
from gantune.records.machine import Machine

FindingKind = Literal[
    "data_loading",
    "host_preprocessing",
    "host_device_copies",
    "synchronization",
    "launch_bound",
    "python_overhead",
    "dominant_operator",
    "memory_layout",
    "communication",
    "allocator",
    "threads",
    "precision",
    "batch_size",
    "regularization",
    "evaluation",
    "reference_ops",
    "launch_geometry",
    "library_settings",
    "idle_gpu",
    "cold_start",
    "cannot_judge_gpu",
    "nothing_to_mend",
]
FINDING_KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
Confidence = Literal["low", "medium", "high"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class Evidence(_Record):
    """One fact a finding rests on: a sentence with its figures, the events it was read from, and a line of
    the user's code where one is known.
    """

    text: str
    events: tuple[str, ...] = ()
    source_line: str | None = None


class ExpectedGain(_Record):
    """The bounds of the speedup that mending can bring; `high` is what removing the whole share gives."""

    low: float = Field(ge=1)
    high: float = Field(ge=1)


class Finding(_Record):
    """One cause of lost time.

    `share` is the part of the step's wall time it costs, None where it cannot be told. `measured_gain` is the
    paired speedup where the remedy could be tried here.
    """

    kind: FindingKind
    share: float | None = Field(ge=0, le=1)
    evidence: tuple[Evidence, ...]
    confidence: Confidence
    remedy: str
    expected_gain: ExpectedGain | None = None
    measured_gain: Interval | None = None


class WallPart(_Record):
    """A part of the window's wall time, by what the machine did or waited for; the shares add up to one."""

    name: str
    time_ms: float
    share: float


class PhaseTime(_Record):
    """The time of one training phase: host wall time, and device time of the work it launched."""

    name: str
    host_ms: float
    share: float
    device_ms: float


class OperatorTime(_Record):
    """One operator by name: self time on the host and time of the device work it launched, in the window."""

    name: str
    calls: int
    host_ms: float
    device_ms: float
    share: float


class KernelTime(_Record):
    """One kernel by name: `share` is of all device time; `occupancy` and `blocks` are medians."""

    name: str
    calls: int
    time_ms: float
    share: float
    median_us: float
    blocks: int | None = None
    threads: int | None = None
    occupancy: float | None = None


class LineTime(_Record):
    """Python self time of one function of the user's code, or operators called from one line."""

    line: str
    calls: int
    time_ms: float
    share: float


class LayerProfile(_Record):
    """One layer of a network: own time, dense MACs, bytes moved at least, and its place on the roofline.

    `roofline_share` is its achieved part of what this machine's measured convolution speed and copy bandwidth
    allow for such a layer; None where it moves and computes nothing.
    """

    name: str
    kind: str
    time_ms: float
    share: float
    macs: int
    bytes: int
    roofline_share: float | None = None


class Roofline(_Record):
    """What this machine was measured to reach: convolutions in GFLOP/s and copies in GB/s.

    `bfloat16_speedup` is how many times as fast the same convolutions are in bfloat16; None where it was not
    measured.
    """

    convolution_gflops: float
    bfloat16_speedup: float | None = None
    copy_gb_s: float
    threads: int


class MemoryPoint(_Record):
    """Memory at one moment: of the host or of the device."""

    time_ms: float
    bytes: int


class MemoryUse(_Record):
    """Memory over time, thinned to its extremes; `peak_bytes` is taken before thinning."""

    place: Literal["host", "device"]
    peak_bytes: int
    points: tuple[MemoryPoint, ...]


class CallTimes(_Record):
    """The first call of a network against the steady ones, and its minor page faults a call."""

    load_ms: float
    first_ms: float
    steady_ms: float
    minor_faults: float
    overhead: float = 0.0


class InputPipeline(_Record):
    """What the step waits for its data: the loader's share of wall time, and the device's idle part of it."""

    loader_ms: float
    loader_share: float
    idle_share: float | None
    calls: int


class ScriptRun(_Record):
    """How a training script ran: the step without a profiler and with it, and what it was set to.

    `step_source` says what told steps apart: an optimizer, a trainer's range, a backward pass, a loader.
    """

    step_source: str
    as_is_ms: float | None
    steps_s: float | None
    profiled_ms: float | None
    overhead: float | None
    minor_faults: float | None
    peak_bytes: int
    batch_size: int | None
    threads: int
    loader_workers: int | None
    settings: dict[str, bool | str]


class Profile(_Record):
    """The content of `profile.json`; another `schema_version` than this one is refused when read."""

    schema_version: Literal[1] = 1
    gantune_version: str
    created: str
    command: str
    subject: Literal["trace", "network", "script"]
    source: str
    framework: str
    devices: tuple[str, ...] = ()
    rank: int | None = None
    world_size: int | None = None
    window_ms: float
    num_steps: int
    step_ms: tuple[float, ...] = ()
    busy_share: float | None = None
    wall: tuple[WallPart, ...] = ()
    findings: tuple[Finding, ...]
    phases: tuple[PhaseTime, ...] = ()
    pipeline: InputPipeline | None = None
    operators: tuple[OperatorTime, ...] = ()
    kernels: tuple[KernelTime, ...] = ()
    lines: tuple[LineTime, ...] = ()
    layers: tuple[LayerProfile, ...] = ()
    roofline: Roofline | None = None
    memory: tuple[MemoryUse, ...] = ()
    calls: CallTimes | None = None
    script: ScriptRun | None = None
    machine: Machine | None = None
    warnings: tuple[str, ...] = ()

    def to_json(self, path: Path | str) -> None:
        """Write the profile as `profile.json`, which `gantune profile --diff` compares."""
        Path(path).write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")

    def table(self) -> str:
        """Give the findings as lines of one table: kind, share of the step, gain, confidence, evidence."""
        rows = [("finding", "share", "gain", "confidence", "evidence")]
        rows += [_finding_row(finding) for finding in self.findings]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return "\n".join(
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )


def _finding_row(finding: Finding) -> tuple[str, str, str, str, str]:
    gain = "–"
    if finding.measured_gain is not None:
        gain = f"{finding.measured_gain.median:.2f}× measured"
    elif finding.expected_gain is not None:
        gain = f"up to {finding.expected_gain.high:.2f}×"
    share = "–" if finding.share is None else f"{finding.share:.1%}"
    evidence = finding.evidence[0].text if finding.evidence else "–"
    return finding.kind, share, gain, finding.confidence, evidence
