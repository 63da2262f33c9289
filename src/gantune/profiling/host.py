"""The host's side of a window: operators by self time, what runs outside of them, and lines of Python."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gantune.profiling.intervals import Intervals, union_all
from gantune.profiling.nesting import find_parents, nearest_ancestor, self_times, sum_by
from gantune.profiling.observation import Observation
from gantune.profiling.painting import Painting
from gantune.profiling.trace.events import Floats, Integers, Kind, Mask
from gantune.profiling.trace.kinds import user_frame
from gantune.profiling.vocabulary import (
    Predicate,
    is_collective,
    is_data_loading,
    is_preprocessing,
    is_waiting_for_batch,
)


@dataclass(frozen=True)
class HostAccounting:
    """Split the window of an observation by what the host did; meant for traces without device work."""

    seen: Observation

    @cached_property
    def operator_rows(self) -> Integers:
        """Give the operators of the window."""
        is_operator = self.seen.trace.of_kind(Kind.OPERATOR)[self.seen.host_rows]
        return self.seen.host_rows[is_operator & self.seen.in_window[self.seen.host_rows]]

    @cached_property
    def operator_self_us(self) -> Floats:
        """Give the self time of each of `operator_rows`."""
        by_row = np.zeros(self.seen.trace.num_events)
        by_row[self.seen.host_rows] = self.seen.host_self_us
        return by_row[self.operator_rows]

    @cached_property
    def self_us_by_name(self) -> Floats:
        """Give the operators' self time by number of their name."""
        names = self.seen.trace.name[self.operator_rows]
        return sum_by(names, self.operator_self_us, len(self.seen.trace.names))

    @cached_property
    def loading(self) -> Intervals:
        """Give the time the main thread waits in the data loader, or TensorFlow's graph for its iterator."""
        return union_all([self._ranges(is_data_loading), self._graph_loading])

    @cached_property
    def _graph_loading(self) -> Intervals:
        """Give the time in which a graph waits for its next batch on another thread, and nothing runs."""
        operators = self.seen.trace.of_kind(Kind.OPERATOR)
        waiting = self.seen.named(is_waiting_for_batch) & self.seen.is_host & ~operators
        return self.seen.time_of(waiting).subtract(self.seen.time_of(operators))

    @cached_property
    def preprocessing(self) -> Intervals:
        """Give the time of named preprocessing on the main thread, outside of the loader."""
        return self._ranges(is_preprocessing).subtract(self.loading)

    @cached_property
    def computing(self) -> Intervals:
        """Give the time in which an operator runs that does not talk to other ranks."""
        operators = self.seen.trace.of_kind(Kind.OPERATOR) & ~self.seen.named(is_collective)
        taken = union_all([self.loading, self.preprocessing])
        return self.seen.time_of(operators).subtract(taken)

    @cached_property
    def exposed_communication(self) -> Intervals:
        """Give the time in which ranks talk while no operator runs."""
        talking = self.seen.time_of(self.seen.is_collective)
        return talking.subtract(union_all([self.computing, self.loading, self.preprocessing]))

    @cached_property
    def outside(self) -> Intervals:
        """Give the time in which nothing of the above happens: Python itself, or what was not recorded."""
        known = [self.loading, self.preprocessing, self.computing, self.exposed_communication]
        return self.seen.window.subtract(union_all(known))

    @cached_property
    def python_rows(self) -> Integers:
        """Give the Python functions of the window."""
        return np.flatnonzero(self.seen.trace.of_kind(Kind.PYTHON) & self.seen.in_window)

    @cached_property
    def lines(self) -> list[tuple[str, int, float]]:
        """List (line of the user's code, calls, self microseconds), longest first.

        A library function's self time belongs to the user's line that called it.
        """
        if self.seen.counters.lines:
            found = [(user_frame(one.line), one) for one in self.seen.counters.lines]
            window_us = self.seen.window_us
            return [(line, one.looks, one.share * window_us) for line, one in found if line is not None]
        trace, rows = self.seen.trace, self.python_rows
        if not len(rows):
            return self._operator_lines()
        parents = find_parents(trace, rows)
        own = self_times(trace, rows, parents)
        frames = [user_frame(name) for name in trace.names]
        is_user = np.array([frame is not None for frame in frames], dtype=bool)[trace.name]
        owner = nearest_ancestor(rows, parents, is_user)
        known = owner >= 0
        totals: dict[str, list[float]] = {}
        time_us = sum_by(trace.name[owner[known]], own[known], len(trace.names))
        calls = np.bincount(trace.name[rows[is_user[rows]]], minlength=len(trace.names))
        for number in np.flatnonzero(time_us + calls):
            total = totals.setdefault(str(frames[number]), [0.0, 0.0])
            total[0] += float(calls[number])
            total[1] += float(time_us[number])
        return sorted(((line, int(n), us) for line, (n, us) in totals.items()), key=lambda item: -item[2])

    def line_of(self, mask: Mask) -> str | None:
        """Name the user's line under which the marked events took most time, where the trace has lines."""
        trace = self.seen.trace
        rows = np.flatnonzero(mask & (trace.source >= 0))
        if len(rows):
            total = np.bincount(trace.source[rows], weights=trace.duration_us[rows])
            return trace.sources[int(np.argmax(total))]
        return self._sampled_line(mask) if self.seen.counters.lines else self._enclosing_line(mask)

    @cached_property
    def _sampled(self) -> Painting:
        rows = self.python_rows
        return Painting(self.seen.trace.start_us[rows], self.seen.trace.end_of(rows))

    def _sampled_line(self, mask: Mask) -> str | None:
        """Name the sampled line under which the marked events took most time."""
        trace, rows = self.seen.trace, np.flatnonzero(mask & self.seen.is_host)
        owner = self._sampled.owner_at(trace.start_us[rows] + trace.duration_us[rows] / 2)
        known = owner >= 0
        if not known.any():
            return None
        names = trace.name[self.python_rows[owner[known]]]
        total = np.bincount(names, weights=trace.duration_us[rows][known])
        return user_frame(trace.names[int(np.argmax(total))])

    def _enclosing_line(self, mask: Mask) -> str | None:
        """Find the user's innermost Python function around the longest marked event."""
        trace, rows = self.seen.trace, np.flatnonzero(mask & self.seen.is_host)
        if not len(rows) or not len(self.python_rows):
            return None
        row = int(rows[np.argmax(trace.duration_us[rows])])
        middle = trace.start_us[row] + trace.duration_us[row] / 2
        around = self.python_rows[
            (trace.start_us[self.python_rows] <= middle) & (trace.end_us[self.python_rows] >= middle)
        ]
        for candidate in around[np.argsort(trace.duration_us[around])]:
            line = user_frame(trace.names[trace.name[candidate]])
            if line is not None:
                return line
        return None

    def _operator_lines(self) -> list[tuple[str, int, float]]:
        trace, rows = self.seen.trace, self.operator_rows
        known = trace.source[rows] >= 0
        if not known.any():
            return []
        numbers = trace.source[rows][known]
        total, calls = sum_by(numbers, self.operator_self_us[known], len(trace.sources)), np.bincount(numbers)
        found = [(trace.sources[n], int(calls[n]), float(total[n])) for n in np.unique(numbers)]
        return sorted(found, key=lambda item: -item[2])

    def _ranges(self, predicate: Predicate) -> Intervals:
        on_main = self.seen.trace.track == self.seen.main_track
        return self.seen.time_of(self.seen.named(predicate) & self.seen.is_host & on_main)
