"""The phases of somebody else's training step, from its optimizers, gradients and function names.

What happens before an optimizer's step, from the first forward or backward pass on, is that network's main
phase. Inside of it, a gradient that is differentiated again is a penalty, and so is the part of the backward
pass whose operators the penalty made. What runs without gradients outside of the networks that are trained,
their optimizers and their averages only watches training: a metric. What nothing explains stays unattributed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gantune.profiling.intervals import Intervals
from gantune.profiling.launch.players import DISCRIMINATOR_ROLE, GENERATOR_ROLE
from gantune.profiling.painting import Painting
from gantune.profiling.phases import (
    AUGMENT,
    DATA,
    DISCRIMINATOR,
    EMA,
    GENERATOR,
    METRICS,
    PATH_LENGTH,
    R1,
    name_phase,
)
from gantune.profiling.script_record import ScriptRecord, StageRecord
from gantune.profiling.trace.events import BACKWARD, Integers, Kind, Trace

_ROLE_PHASES = {GENERATOR_ROLE: GENERATOR, DISCRIMINATOR_ROLE: DISCRIMINATOR}
# One look of the sampler may be late by this much.
_LOOK_NS = 4e6
_AVERAGING = ("aten::lerp_", "aten::_foreach_lerp_", "aten::mul_", "aten::add_", "aten::copy_", "aten::sub_")
_MIN_AVERAGING = 4


@dataclass(frozen=True)
class PhaseRange:
    """A phase from start to end, nanoseconds of the wall clock."""

    name: str
    start_ns: float
    end_ns: float


@dataclass(frozen=True)
class _Segment:
    """What leads to one optimizer step."""

    optimizer: int
    start_ns: int
    end_ns: int


def find_phases(record: ScriptRecord, trace: Trace) -> list[PhaseRange]:
    """Give the phases of the captured stage; they may contain each other, the inner one counts."""
    stage = record.stage_named("captured")
    found: list[PhaseRange] = []
    segments = list(_segments(record, stage))
    for segment in segments:
        role = record.roles[segment.optimizer] if segment.optimizer < len(record.roles) else None
        name = _penalty_alone(record, stage, segment, role) or _ROLE_PHASES.get(role or "")
        if name is not None:
            found.append(PhaseRange(name, segment.start_ns, segment.end_ns))
    found += _penalties(record, stage, trace, segments)
    found += _hinted(stage)
    found += _averaging(stage, trace, segments)
    return found + list(_watching(record, stage, found))


def _segments(record: ScriptRecord, stage: StageRecord) -> Iterator[_Segment]:
    no_grads = _union([(start, end) for start, end, _ in stage.no_grads])
    is_watched = no_grads.covers(np.array([start for *_, start, _ in stage.roots], dtype=np.float64))
    # A network that nothing trains, called without gradients, begins no step of an optimizer.
    passes = [
        start
        for (network, _, start, _), is_quiet in zip(stage.roots, is_watched.tolist(), strict=True)
        if not is_quiet or _is_trained(record, network)
    ]
    work = sorted(passes + [start for start, _ in stage.backwards])
    begin = stage.boundaries[0] if stage.boundaries else 0
    for optimizer, start, end in stage.optimizer_steps:
        place = int(np.searchsorted(work, begin))
        if place < len(work) and work[place] < start:
            yield _Segment(optimizer, work[place], start)
        begin = end


def _calls(
    record: ScriptRecord, stage: StageRecord, segment: _Segment, role: str
) -> list[tuple[bool, int, int]]:
    """Give (input is a leaf that needs a gradient, start, end) of calls of the networks with this role."""
    found = []
    for network, is_leaf, start, end in stage.roots:
        owner = record.root_owners[network] if network < len(record.root_owners) else None
        if owner is not None and record.roles[owner] == role and segment.start_ns <= start < segment.end_ns:
            found.append((is_leaf, start, end))
    return found


def _penalty_alone(
    record: ScriptRecord, stage: StageRecord, segment: _Segment, role: str | None
) -> str | None:
    """Name the penalty of a segment that holds nothing else: lazy regularization with a step of its own."""
    grads = [grad for grad in stage.grads if grad[2] and segment.start_ns <= grad[0] < segment.end_ns]
    if not grads:
        return None
    made = _calls(record, stage, segment, GENERATOR_ROLE)
    judged = _calls(record, stage, segment, DISCRIMINATOR_ROLE)
    if role == DISCRIMINATOR_ROLE and len(judged) == 1 and not made:
        return R1
    return PATH_LENGTH if role == GENERATOR_ROLE and not judged else None


def _penalties(
    record: ScriptRecord, stage: StageRecord, trace: Trace, segments: list[_Segment]
) -> Iterator[PhaseRange]:
    """Find penalties inside of main phases, their backward passes included."""
    made: dict[str, list[tuple[float, float]]] = {R1: [], PATH_LENGTH: []}
    for start, end, is_differentiable, is_image in stage.grads:
        if is_differentiable:
            made[R1 if is_image else PATH_LENGTH].append((start, end))
    if made[R1]:
        for segment in segments:
            judged = _calls(record, stage, segment, DISCRIMINATOR_ROLE)
            made[R1] += [(start, end) for is_leaf, start, end in judged if is_leaf and len(judged) >= 3]
    for name, ranges in made.items():
        yield from (PhaseRange(name, start, end) for start, end in ranges)
        if ranges:
            yield from _backward_of(name, ranges, trace)


def _backward_of(name: str, ranges: list[tuple[float, float]], trace: Trace) -> Iterator[PhaseRange]:
    nodes, makers = pair_backward_nodes(trace)
    assert trace.origin_ns is not None
    painting = Painting.of([((a - trace.origin_ns) / 1e3, (b - trace.origin_ns) / 1e3) for a, b in ranges])
    mine = nodes[painting.owner_at(trace.start_us[makers]) >= 0]
    outside = mine[painting.owner_at(trace.start_us[mine]) < 0]
    for start, end in _merge(trace.start_us[outside], trace.end_of(outside), gap=20.0):
        yield PhaseRange(name, start * 1e3 + trace.origin_ns, end * 1e3 + trace.origin_ns)


def pair_backward_nodes(trace: Trace) -> tuple[Integers, Integers]:
    """Pair the outermost nodes of backward passes with the operators that made them (rows of the trace)."""
    is_node = ((trace.types & BACKWARD) > 0) & (trace.sequence >= 0)
    is_outer = is_node & trace.named(lambda name: name.startswith("autograd::engine::evaluate_function"))
    makers = np.flatnonzero((trace.sequence >= 0) & ~is_node & trace.of_kind(Kind.OPERATOR))
    nodes = np.flatnonzero(is_outer)
    if not len(makers) or not len(nodes):
        return nodes[:0], makers[:0]
    # Several operators may show one number; the last of them made the node.
    last = np.full(int(trace.sequence.max()) + 1, -1, dtype=np.int64)
    last[trace.sequence[makers]] = makers
    found = last[trace.sequence[nodes]]
    return nodes[found >= 0], found[found >= 0]


def _hinted(stage: StageRecord) -> Iterator[PhaseRange]:
    """Find phases that the script's own function names tell."""
    current: PhaseRange | None = None
    for place, start, end, _ in stage.samples:
        phase = None if place is None else place[1]
        if (
            phase is not None
            and current is not None
            and _same(current, phase, place)
            and start <= current.end_ns + _LOOK_NS
        ):
            current = PhaseRange(current.name, current.start_ns, end)
            continue
        if current is not None:
            yield current
        current = PhaseRange(_label(phase, place), start, end) if phase is not None and place else None
    if current is not None:
        yield current


def _same(current: PhaseRange, phase: str, place: tuple[str, str | None] | None) -> bool:
    return place is not None and current.name == _label(phase, place)


def _label(phase: str, place: tuple[str, str | None] | None) -> str:
    """Name a hinted phase so that `phases` and the vocabulary know it."""
    if phase in (AUGMENT, DATA, METRICS, EMA) and place is not None:
        return f"{phase}: {place[0].rsplit(': ', 1)[-1]}"
    return phase


def _watching(record: ScriptRecord, stage: StageRecord, known: list[PhaseRange]) -> Iterator[PhaseRange]:
    """Find what runs without gradients and is no trained network, loader, optimizer or average."""
    trained = [(start, end) for network, _, start, end in stage.roots if _is_trained(record, network)]
    stepping = [(start, end) for _, start, end in stage.optimizer_steps]
    mains = {GENERATOR, DISCRIMINATOR, R1, PATH_LENGTH}
    others = [
        (one.start_ns, one.end_ns)
        for one in known
        if one.name not in mains and name_phase(one.name) != METRICS
    ]
    excused = _union([*trained, *stepping, *stage.loads, *stage.backwards, *others])
    for first, last, line in stage.no_grads:
        watching = Intervals.single(first, last).subtract(excused)
        for start, end in zip(watching.start.tolist(), watching.end.tolist(), strict=True):
            yield PhaseRange(f"{METRICS}: {line or 'without gradients'}", start, end)


def _is_trained(record: ScriptRecord, network: int) -> bool:
    return network < len(record.root_owners) and record.root_owners[network] is not None


def _union(ranges: Sequence[tuple[float, float]]) -> Intervals:
    table = np.array(ranges, dtype=np.float64).reshape(-1, 2)
    return Intervals.union(table[:, 0], table[:, 1])


def _averaging(stage: StageRecord, trace: Trace, segments: list[_Segment]) -> Iterator[PhaseRange]:
    """Find averaging of weights: only in-place arithmetic, between an optimizer's step and the next pass."""
    if trace.origin_ns is None or not stage.boundaries:
        return
    is_averaging = trace.named(lambda name: name in _AVERAGING) & trace.of_kind(Kind.OPERATOR)
    begins = [segment.start_ns for segment in segments] + [stage.boundaries[-1]]
    for _, _, after in stage.optimizer_steps:
        until = min((begin for begin in begins if begin >= after), default=after)
        low, high = (after - trace.origin_ns) / 1e3, (until - trace.origin_ns) / 1e3
        first, last = np.searchsorted(trace.start_us, [low, high])
        rows = first + np.flatnonzero(trace.of_kind(Kind.OPERATOR)[first:last])
        chosen = rows[is_averaging[rows]]
        if (
            len(chosen) >= _MIN_AVERAGING
            and trace.duration_us[chosen].sum() > 0.5 * trace.duration_us[rows].sum()
        ):
            end = float(trace.end_of(chosen).max())
            yield PhaseRange(
                EMA, trace.start_us[chosen[0]] * 1e3 + trace.origin_ns, end * 1e3 + trace.origin_ns
            )


def _merge(
    start: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    end: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    *,
    gap: float,
) -> Iterator[tuple[float, float]]:
    """Join ranges in order of start that are at most `gap` apart."""
    if not len(start):
        return
    low, high = float(start[0]), float(end[0])
    for first, last in zip(start[1:].tolist(), end[1:].tolist(), strict=True):
        if first > high + gap:
            yield low, high
            low, high = first, last
        high = max(high, last)
    yield low, high
