"""The phases of GAN training, and the ranges that stand for them in traces; the only owner of their names."""

import re
from dataclasses import dataclass

import numpy as np

from gantune.profiling.intervals import Intervals
from gantune.profiling.observation import Observation
from gantune.profiling.trace.events import Integers, Kind

GENERATOR, DISCRIMINATOR = "G main", "D main"
R1, PATH_LENGTH = "R1", "path length"
AUGMENT, EMA, DATA, METRICS, OPTIMIZER = "augment", "EMA", "data", "metrics", "optimizer"
UNATTRIBUTED = "unattributed"
PHASES = (DATA, AUGMENT, GENERATOR, PATH_LENGTH, DISCRIMINATOR, R1, OPTIMIZER, EMA, METRICS)
REGULARIZATION = (R1, PATH_LENGTH)

# The first pattern that fits decides; regularizers come before the main phases whose names they may contain.
_PATTERNS = (
    (METRICS, r"^metrics: "),
    (R1, r"^D_?reg\b|\br1\b|gradient[_ ]?penalty|\bgp\b|d_?r1"),
    (PATH_LENGTH, r"^G_?reg\b|path[_ ]?length|\bpl\b|g_?path"),
    (GENERATOR, r"^G[ _]?main\b|^G\b|\bgenerator([_ ](step|phase|main|forward|backward))?$|train_g\b"),
    (
        DISCRIMINATOR,
        r"^D[ _]?main\b|^D\b|\bdiscriminator([_ ](step|phase|main|forward|backward))?$|train_d\b",
    ),
    (AUGMENT, r"\baug(ment\w*)?\b|\bada\b"),
    (EMA, r"\bema\b|moving[_ ]?average"),
    (METRICS, r"\bmetrics?\b|\bfid\b|\bevaluat\w+"),
    (OPTIMIZER, r"^Optimizer\.(step|zero_grad)#|^optimizer\b"),
    (DATA, r"enumerate\(DataLoader\)|^data\b|data[_ ]?load\w*|IteratorGetNext|load_batch"),
)
# What trainers call one whole step: torch's profiler, Lightning, and hand-written ranges.
_STEP_RANGE = re.compile(
    r"^(ProfilerStep#\d+|\[pl\]\[profile\]run_training_batch|train(ing)?[_ ]step|iteration|step)\b",
    re.IGNORECASE,
)
_COMPILED = tuple((phase, re.compile(pattern, re.IGNORECASE)) for phase, pattern in _PATTERNS)


@dataclass(frozen=True)
class Phase:
    """One phase's host time, exclusive of phases inside it, and the device time of the work it launched."""

    name: str
    host_us: float
    device_us: float
    calls: int
    num_steps: int = 0


def name_phase(range_name: str) -> str | None:
    """Give the phase a named range stands for, or None."""
    bare = range_name.strip("# ")
    for phase, pattern in _COMPILED:
        if pattern.search(bare):
            return phase
    return None


def is_step_range(range_name: str) -> bool:
    """Say whether a named range stands for one whole training step."""
    return _STEP_RANGE.search(range_name) is not None


def split_by_phase(seen: Observation) -> tuple[Phase, ...]:
    """Split the window's host time by phase, the rest as unattributed; empty where no range names a phase."""
    trace = seen.trace
    phase_of_name = [name_phase(name) for name in trace.names]
    rows = _phase_rows(seen, phase_of_name)
    if not len(rows):
        return ()
    edges, owner = _paint(seen, rows)
    lengths = np.diff(edges)
    launched = np.flatnonzero(seen.is_device & (seen.launch_of >= 0))
    place = np.searchsorted(edges, trace.start_us[seen.launch_of[launched]], side="right") - 1
    is_inside = (place >= 0) & (place < len(owner))
    launched, launched_by = launched[is_inside], owner[place[is_inside]]
    phases = []
    for phase in (*PHASES, UNATTRIBUTED):
        chosen = rows[[phase_of_name[trace.name[row]] == phase for row in rows]]
        owned = np.isin(owner, chosen) if phase != UNATTRIBUTED else owner < 0
        device = np.isin(launched_by, chosen) if phase != UNATTRIBUTED else launched_by < 0
        host_us = float(lengths[owned].sum())
        if host_us > 0:
            phases.append(
                Phase(
                    phase,
                    host_us,
                    float(trace.duration_us[launched[device]].sum()),
                    len(chosen),
                    _count_steps(seen, chosen),
                )
            )
    return tuple(phases)


def _count_steps(seen: Observation, rows: Integers) -> int:
    """Count the steps in which at least one of the rows begins."""
    if not len(rows) or not seen.steps:
        return 0
    place = np.searchsorted(np.array([start for start, _ in seen.steps]), seen.trace.start_us[rows] + 1e-3)
    return len(np.unique(place))


def _phase_rows(seen: Observation, phase_of_name: list[str | None]) -> Integers:
    """Give the ranges on the main thread that stand for phases, outer ones first."""
    is_phase = np.array([phase is not None for phase in phase_of_name], dtype=bool)[seen.trace.name]
    mask = is_phase & seen.trace.of_kind(Kind.RANGE) & (seen.trace.track == seen.main_track) & seen.in_window
    rows = np.flatnonzero(mask)
    return rows[np.lexsort((-seen.trace.duration_us[rows], seen.trace.start_us[rows]))]


def _paint(
    seen: Observation, rows: Integers
) -> tuple["np.ndarray[tuple[int], np.dtype[np.float64]]", Integers]:
    """Cut the window at all range ends and give each piece its innermost range, or −1."""
    window: Intervals = seen.window
    low, high = float(window.start[0]), float(window.end[-1])
    start = np.clip(seen.trace.start_us[rows], low, high)
    end = np.clip(seen.trace.end_us[rows], low, high)
    edges = np.unique(np.concatenate([[low, high], start, end]))
    owner = np.full(len(edges) - 1, -1, dtype=np.int64)
    for row, first, last in zip(
        rows, np.searchsorted(edges, start), np.searchsorted(edges, end), strict=True
    ):
        owner[first:last] = row
    return edges, owner
