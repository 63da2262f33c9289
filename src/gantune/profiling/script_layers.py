"""The time of each module of a script's networks, backward passes included."""

from collections import defaultdict

import numpy as np

from gantune.profiling.observation import ModuleShare, Observation
from gantune.profiling.painting import Painting
from gantune.profiling.script_phases import pair_backward_nodes
from gantune.profiling.script_record import StageRecord
from gantune.profiling.trace.events import DOUBLE, Floats, Integers, Kind, Mask, Trace
from gantune.profiling.vocabulary import is_host_layout_change

# An operator with more own work than this is no matter of dispatch.
_HEAVY_US = 100.0
_NUM_MODULES = 40


def share_modules(stage: StageRecord, trace: Trace) -> tuple[ModuleShare, ...]:
    """Give every module's share of the captured stage without the modules it calls, largest first."""
    if not stage.modules or trace.origin_ns is None:
        return ()
    ranges = [((a - trace.origin_ns) / 1e3, (b - trace.origin_ns) / 1e3) for _, a, b in stage.modules]
    painting = Painting.of(ranges)
    nodes, makers = pair_backward_nodes(trace)
    node_owner = painting.owner_at(trace.start_us[makers])
    seen = Observation(trace)
    # The window leaves out the step that warmed the profiler up.
    begins = np.array([begin for begin, _ in ranges])
    times = np.where(_is_within(seen, begins), painting.own_time(len(ranges)), 0.0)
    known = (node_owner >= 0) & _is_within(seen, trace.start_us[nodes])
    np.add.at(times, node_owner[known], trace.duration_us[nodes[known]])
    heavy, own_us, owner = _heavy_operators(seen, painting, nodes, node_owner)
    totals: dict[str, float] = defaultdict(float)
    for (name, _, _), time in zip(stage.modules, times.tolist(), strict=True):
        totals[name] += time
    heavies: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row, time, place in zip(heavy.tolist(), own_us.tolist(), owner.tolist(), strict=True):
        heavies[stage.modules[place][0]][trace.names[trace.name[row]]] += time
    found = [_share(name, total, heavies[name], seen.window_us) for name, total in totals.items()]
    return tuple(sorted(found, key=lambda one: -one.share)[:_NUM_MODULES])


def _share(name: str, total_us: float, heavy: dict[str, float], window_us: float) -> ModuleShare:
    operators = tuple(sorted(heavy, key=lambda operator: -heavy[operator])[:3])
    return ModuleShare(name, total_us / window_us, sum(heavy.values()) / window_us, operators)


def _is_within(seen: Observation, start_us: Floats) -> Mask:
    """Mark what begins within the window."""
    inside: Mask = (start_us >= seen.window.start[0]) & (start_us < seen.window.end[-1])
    return inside


def _heavy_operators(
    seen: Observation, painting: Painting, nodes: Integers, node_owner: Integers
) -> tuple[Integers, Floats, Integers]:
    """Give large operators without another fault, their own time, and the module call they belong to."""
    trace = seen.trace
    is_other = trace.named(is_host_layout_change) | ((trace.types & DOUBLE) > 0)
    heavy = (seen.host_self_us >= _HEAVY_US) & (trace.kind[seen.host_rows] == Kind.OPERATOR)
    heavy &= ~is_other[seen.host_rows] & _is_within(seen, trace.start_us[seen.host_rows])
    rows, own_us = seen.host_rows[heavy], seen.host_self_us[heavy]
    backward = Painting(trace.start_us[nodes], trace.end_of(nodes))
    middle = trace.start_us[rows] + trace.duration_us[rows] / 2
    owner = painting.owner_at(middle)
    node = backward.owner_at(middle)
    inside = (owner < 0) & (node >= 0)
    owner[inside] = node_owner[node[inside]]
    known = owner >= 0
    return rows[known], own_us[known], owner[known]
