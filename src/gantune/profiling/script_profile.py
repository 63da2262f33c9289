"""Profile somebody else's training script: run it with a watcher inside, and judge what that recorded."""

import shlex
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gantune.errors import ScriptError
from gantune.profiling.launch.launcher import PROFILE_BOOTSTRAP, run_watched
from gantune.profiling.launch.options import WatchOptions
from gantune.profiling.observation import ProcessCounters, SampledLine
from gantune.profiling.scene import Scene, see
from gantune.profiling.script_layers import share_modules
from gantune.profiling.script_phases import find_phases
from gantune.profiling.script_record import RecordedScript, ScriptRecord, StageRecord, read_record
from gantune.profiling.summary import summarize
from gantune.profiling.trace import read_trace
from gantune.profiling.trace.annotate import Span, add_spans
from gantune.profiling.trace.events import Kind, Trace
from gantune.records.profile import Profile, ScriptRun

_SAMPLED_THREAD = "sampled"
_NUM_LINES = 40


@dataclass
class ScriptProfiles:
    """What profiling a script gave: one profile a process that trained, and how the script ended."""

    profiles: list[tuple[Profile, Scene]] = field(default_factory=list)
    exit_code: int = 0


def profile_script(
    command: Sequence[str],
    options: WatchOptions,
    *,
    command_line: str,
    on_profile: Callable[[Profile, Scene], None] | None = None,
    bootstrap: str = PROFILE_BOOTSTRAP,
    environment: Mapping[str, str] | None = None,
    is_quiet: bool = False,
) -> ScriptProfiles:
    """Run the command unchanged and profile each of its processes that train, the first rank first.

    `on_profile` gets the first profile as soon as it is there, while the script goes on. Raises `ScriptError`
    where the script took no steps, and where it failed after it was profiled.
    """
    found = ScriptProfiles()
    source = shlex.join(command)

    def tell(folder: Path) -> None:
        recorded = read_record(folder)
        if recorded.trace is not None and on_profile is not None:
            found.profiles.append(judge_record(recorded, source=source, command_line=command_line))
            on_profile(*found.profiles[0])

    with run_watched(
        command,
        options,
        bootstrap=bootstrap,
        environment=environment,
        is_quiet=is_quiet,
        on_record=tell,
    ) as watched:
        found.exit_code = watched.exit_code
        for folder in watched.records[len(found.profiles) :]:
            recorded = read_record(folder)
            if recorded.trace is not None:
                found.profiles.append(judge_record(recorded, source=source, command_line=command_line))
                if len(found.profiles) == 1 and on_profile is not None:
                    on_profile(*found.profiles[0])
        if not found.profiles:
            raise _no_trace(read_record(watched.records[0]).record, source)
    return found


def judge_record(recorded: RecordedScript, *, source: str, command_line: str) -> tuple[Profile, Scene]:
    """Make the profile of one process from its record and its trace."""
    assert recorded.trace is not None
    record = recorded.record
    trace = annotate(record, read_trace(recorded.trace))
    scene = see(trace, count(record, trace))
    found = summarize(scene, source=source, command=command_line)
    update = {"subject": "script", "framework": f"PyTorch {record.torch}", "script": _describe(record, found)}
    return found.model_copy(
        update={**update, "rank": record.rank, "warnings": (*found.warnings, *_warn(record))}
    ), scene


def annotate(record: ScriptRecord, trace: Trace) -> Trace:
    """Put steps, phases and sampled lines among the trace's events."""
    stage = record.stage_named("captured")
    process, thread = str(record.process_id), str(record.thread_id)
    steps = list(zip(stage.boundaries, stage.boundaries[1:], strict=False))
    # The first step warms the profiler up, and the last is cut where the recording was limited.
    steps = steps[1:] if len(steps) > 1 else steps
    steps = steps[:-1] if record.is_limited and len(steps) > 1 else steps
    spans = [Span(f"ProfilerStep#{i}", Kind.STEP, a, b, process, thread) for i, (a, b) in enumerate(steps)]
    if not any(trace.named(lambda name: name.startswith("enumerate(DataLoader)"))):
        spans += [Span("data: DataLoader", Kind.RANGE, a, b, process, thread) for a, b in stage.loads]
    spans += [
        Span(one.name, Kind.RANGE, one.start_ns, one.end_ns, process, thread)
        for one in find_phases(record, trace)
    ]
    spans += [
        Span(place[0], Kind.PYTHON, start, end, process, _SAMPLED_THREAD)
        for place, start, end, _ in stage.samples
        if place is not None
    ]
    return add_spans(trace, spans)


def count(record: ScriptRecord, trace: Trace) -> ProcessCounters:
    """Give what was counted beside the trace, per step."""
    stage = record.stage_named("captured")
    return ProcessCounters(
        minor_faults=record.minor_faults,
        system_ms=record.system_ms,
        threads=record.threads,
        num_cores=record.num_cores,
        run_delay_share=record.run_delay_share,
        batch_size=record.batch_size or (record.loader.batch_size if record.loader else None),
        as_is_ms=record.as_is_ms,
        least_ms=min(record.stage_named("plain").step_ms, default=None),
        loader_workers=record.loader.workers if record.loader else None,
        reference_operations=record.reference_operations,
        lines=sum_lines(record.stage_named("sampled")),
        modules=share_modules(stage, trace),
        is_anomaly_detected=record.anomaly_detection,
        is_onednn_on=record.onednn,
        is_cudnn_benchmarked=record.cudnn_benchmark if record.cuda else None,
        is_deterministic=record.deterministic or record.cudnn_deterministic,
    )


def sum_lines(stage: StageRecord) -> tuple[SampledLine, ...]:
    """Add sampled time up by line, longest first; shares are of the sampled stage."""
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for place, start, end, looks in stage.samples:
        if place is not None:
            totals[place[0]][0] += end - start
            totals[place[0]][1] += looks
    whole = sum(end - start for _, start, end, _ in stage.samples)
    lines = [SampledLine(line, time / whole, looks) for line, (time, looks) in totals.items()]
    return tuple(sorted(lines, key=lambda line: -line.share)[:_NUM_LINES])


def _describe(record: ScriptRecord, found: Profile) -> ScriptRun:
    as_is_ms = record.as_is_ms
    profiled_ms = float(np.median(found.step_ms)) if found.step_ms else None
    return ScriptRun(
        step_source=record.source or "unknown",
        as_is_ms=as_is_ms,
        steps_s=1e3 / as_is_ms if as_is_ms else None,
        profiled_ms=profiled_ms,
        overhead=profiled_ms / as_is_ms - 1 if as_is_ms and profiled_ms else None,
        minor_faults=record.minor_faults,
        peak_bytes=record.peak_bytes,
        batch_size=record.batch_size,
        threads=record.threads,
        loader_workers=record.loader.workers if record.loader else None,
        settings={
            "oneDNN": record.onednn,
            "MKL": record.mkl,
            "cudnn.benchmark": record.cudnn_benchmark,
            "float32 matmul precision": record.matmul_precision,
            "deterministic algorithms": record.deterministic,
            "anomaly detection": record.anomaly_detection,
            "default dtype": record.default_dtype,
        },
    )


def _warn(record: ScriptRecord) -> tuple[str, ...]:
    found = []
    if record.is_limited:
        found.append("The recording ended inside a step, to keep the trace small.")
    if record.is_cut:
        found.append(
            f"The script ended during the {record.stage} stage: fewer steps were seen than asked for."
        )
    if record.stage_named("plain").step_ms == []:
        found.append("No step was timed without the profiler.")
    return tuple(found)


def _no_trace(record: ScriptRecord, source: str) -> ScriptError:
    if record.problem is not None:
        return ScriptError(f"{source} uses a profiler of its own, so none could be added ({record.problem}).")
    return ScriptError(
        f"{source} ended after {record.num_steps} steps, before a step could be recorded; "
        "let it run longer, or lower --warmup and --steps."
    )
