"""Trace files → columns."""

from gantune.profiling.trace.events import Device, Kind, Trace, Track
from gantune.profiling.trace.read import read_trace

__all__ = ["Device", "Kind", "Trace", "Track", "read_trace"]
