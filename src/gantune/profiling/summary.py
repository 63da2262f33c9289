"""A scene as the record that is written: wall time by cause, phases, operators, kernels, memory, findings."""

from datetime import datetime, timezone
from importlib.metadata import version

import numpy as np

from gantune.profiling.findings import diagnose
from gantune.profiling.intervals import Intervals
from gantune.profiling.nesting import sum_by
from gantune.profiling.phases import UNATTRIBUTED
from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import Integers, Kind
from gantune.profiling.vocabulary import is_data_loading
from gantune.records.profile import (
    InputPipeline,
    KernelTime,
    LineTime,
    MemoryPoint,
    MemoryUse,
    OperatorTime,
    PhaseTime,
    Profile,
    WallPart,
)

NUM_ROWS = 40
# All that a program has, nearly always: a comparison must not take a short list for a change.
NUM_OPERATORS = 400
NUM_MEMORY_POINTS = 400
# Some profilers count host memory without its history: their few bytes are no peak.
_MIN_MEMORY_BYTES = 1 << 20
# Steps of one kind launch the same kernels; more difference than this means that events were lost.
_KERNEL_COUNT_SLACK = 0.2


def summarize(scene: Scene, *, source: str, command: str) -> Profile:
    """Summarize a scene that comes from a trace; times are of its window."""
    seen, trace = scene.seen, scene.seen.trace
    return Profile(
        gantune_version=version("gantune"),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        subject="trace",
        source=source,
        framework=trace.framework,
        devices=tuple(dict.fromkeys(device.name for device in trace.devices)),
        rank=trace.rank,
        world_size=trace.world_size,
        window_ms=seen.window_us / 1e3,
        num_steps=len(seen.steps),
        step_ms=tuple((end - start) / 1e3 for start, end in seen.steps),
        busy_share=None if scene.device is None else seen.share(scene.device.busy),
        wall=split_wall(scene),
        findings=diagnose(scene),
        phases=tuple(
            PhaseTime(
                name=phase.name,
                host_ms=phase.host_us / 1e3,
                share=min(1.0, phase.host_us / seen.window_us),
                device_ms=phase.device_us / 1e3,
            )
            for phase in scene.phases
            if phase.name != UNATTRIBUTED or phase.host_us > 0
        ),
        pipeline=_input_pipeline(scene),
        operators=list_operators(scene),
        kernels=list_kernels(scene),
        lines=tuple(
            LineTime(line=line, calls=calls, time_ms=us / 1e3, share=min(1.0, us / seen.window_us))
            for line, calls, us in scene.host.lines[:NUM_ROWS]
        ),
        memory=_memory(scene),
        warnings=(*trace.warnings, *_lost_kernels(scene)),
    )


def split_wall(scene: Scene) -> tuple[WallPart, ...]:
    """Split the window by cause; with a device by what it does or waits for, else by what the host does."""
    parts: dict[str, Intervals]
    if scene.device is not None:
        names = {
            "data": "idle: data loading",
            "setup": "idle: device setup",
            "allocator": "idle: allocator",
            "waiting": "idle: synchronization",
            "host": "idle: host busy",
            "unknown": "idle: unexplained",
        }
        parts = {
            "computing": scene.device.compute,
            "communication alone": scene.device.exposed_communication,
            "copies alone": scene.device.exposed_copies,
        }
        parts |= {names[name]: time for name, time in scene.device.idle_by_cause.items()}
    else:
        outside = "outside of operators" if scene.seen.has_operators else "not recorded"
        parts = {
            "operators": scene.host.computing,
            "data loading": scene.host.loading,
            "preprocessing": scene.host.preprocessing,
            "communication alone": scene.host.exposed_communication,
            outside: scene.host.outside,
        }
    return tuple(
        WallPart(name=name, time_ms=time.total / 1e3, share=scene.seen.share(time))
        for name, time in parts.items()
        if time.total > 0
    )


def list_operators(scene: Scene, *, limit: int = NUM_OPERATORS) -> tuple[OperatorTime, ...]:
    """List operators by name, longest first: by device time where there is any, else by self time."""
    seen, trace = scene.seen, scene.seen.trace
    size = len(trace.names)
    rows = scene.host.operator_rows
    host_us = scene.host.self_us_by_name
    calls = np.bincount(trace.name[rows], minlength=size) if len(rows) else np.zeros(size)
    device_us = _device_us_by_operator(scene)
    share_of = (device_us if scene.device is not None else host_us) / seen.window_us
    order = np.lexsort((-host_us, -share_of))[:limit]
    return tuple(
        OperatorTime(
            name=trace.names[number],
            calls=int(calls[number]),
            host_ms=float(host_us[number]) / 1e3,
            device_ms=float(device_us[number]) / 1e3,
            share=min(1.0, float(share_of[number])),
        )
        for number in order
        if host_us[number] + device_us[number] > 0
    )


def list_kernels(scene: Scene, *, limit: int = NUM_ROWS) -> tuple[KernelTime, ...]:
    """List device work by name, longest first, with its median launch geometry."""
    trace = scene.seen.trace
    rows = np.flatnonzero(scene.seen.is_device & scene.seen.in_window)
    totals = sum_by(trace.name[rows], trace.duration_us[rows], len(trace.names))
    overall = float(totals.sum())
    found = []
    for number in np.argsort(-totals)[:limit]:
        own = rows[trace.name[rows] == number]
        if not len(own):
            break
        blocks, threads, occupancy = _geometry(scene, own)
        found.append(
            KernelTime(
                name=trace.names[number],
                calls=len(own),
                time_ms=float(totals[number]) / 1e3,
                share=float(totals[number]) / overall if overall else 0.0,
                median_us=float(np.median(trace.duration_us[own])),
                blocks=blocks,
                threads=threads,
                occupancy=occupancy,
            )
        )
    return tuple(found)


def _geometry(scene: Scene, rows: Integers) -> tuple[int | None, int | None, float | None]:
    shape = scene.seen.trace.geometry
    places = np.flatnonzero(np.isin(shape.row, rows))
    if not len(places):
        return None, None, None
    known = shape.occupancy[places][np.isfinite(shape.occupancy[places])]
    blocks, threads = shape.grid[places].prod(axis=1), shape.block[places].prod(axis=1)
    occupancy = float(np.median(known)) if len(known) else None
    return int(np.median(blocks)), int(np.median(threads)), occupancy


def _device_us_by_operator(scene: Scene) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    seen, size = scene.seen, len(scene.seen.trace.names)
    launched = np.flatnonzero(seen.is_device & (seen.launch_of >= 0) & seen.in_window)
    if not len(launched):
        return np.zeros(size)
    owner = np.full(seen.trace.num_events, -1, dtype=np.int64)
    owner[seen.host_rows] = seen.operator_of
    operators = owner[seen.launch_of[launched]]
    known = operators >= 0
    return sum_by(seen.trace.name[operators[known]], seen.trace.duration_us[launched[known]], size)


def _input_pipeline(scene: Scene) -> InputPipeline | None:
    seen = scene.seen
    calls = int((seen.named(is_data_loading) & seen.is_host & seen.in_window).sum())
    if not calls:
        return None
    loading = (scene.device or scene.host).loading
    idle = None if scene.device is None else seen.share(scene.device.idle_by_cause["data"])
    return InputPipeline(
        loader_ms=loading.total / 1e3, loader_share=seen.share(loading), idle_share=idle, calls=calls
    )


def _memory(scene: Scene) -> tuple[MemoryUse, ...]:
    samples = scene.seen.trace.memory
    found = []
    for place, mask in (("device", samples.is_device), ("host", ~samples.is_device)):
        if not mask.any() or int(samples.total_bytes[mask].max()) < _MIN_MEMORY_BYTES:
            continue
        time_us, size = samples.time_us[mask], samples.total_bytes[mask]
        points = thin_to_peaks(time_us, size)
        found.append(
            MemoryUse(
                place="device" if place == "device" else "host",
                peak_bytes=max(0, int(size.max())),
                points=tuple(
                    MemoryPoint(time_ms=float(time_us[at]) / 1e3, bytes=int(size[at])) for at in points
                ),
            )
        )
    return tuple(found)


def thin_to_peaks(
    time_us: "np.ndarray[tuple[int], np.dtype[np.float64]]", size: Integers, *, count: int = NUM_MEMORY_POINTS
) -> Integers:
    """Choose at most `count` samples: the smallest and the largest of each of count / 2 equal times."""
    if len(size) <= count:
        return np.arange(len(size))
    edges = np.linspace(time_us[0], time_us[-1], count // 2 + 1)
    place = np.clip(np.searchsorted(edges, time_us, side="right") - 1, 0, count // 2 - 1)
    chosen: set[int] = set()
    for part in np.unique(place):
        rows = np.flatnonzero(place == part)
        chosen |= {int(rows[np.argmin(size[rows])]), int(rows[np.argmax(size[rows])])}
    return np.array(sorted(chosen), dtype=np.int64)


def _lost_kernels(scene: Scene) -> tuple[str, ...]:
    """Warn where the steps launched different numbers of kernels: the profiler lost some at its start."""
    if scene.device is None or len(scene.seen.steps) < 3:
        return ()
    launch = scene.seen.launch_of[np.flatnonzero(scene.seen.trace.of_kind(Kind.KERNEL))]
    start = scene.seen.trace.start_us[launch[launch >= 0]]
    counts = [int(((start >= low) & (start < high)).sum()) for low, high in scene.seen.steps]
    middle = float(np.median(counts))
    if not middle or min(counts) >= (1 - _KERNEL_COUNT_SLACK) * middle:
        return ()
    return (
        f"The steps launched {min(counts):,} to {max(counts):,} kernels; where that is not meant, the "
        "profiler lost events: keep a warm-up step inside its session.",
    )
