"""Read a trace file of any of the profilers: Kineto in all its schemas, TensorFlow's, any Chrome trace."""

from pathlib import Path

from gantune.errors import CheckpointError
from gantune.profiling.trace.builder import TraceBuilder
from gantune.profiling.trace.events import Trace
from gantune.profiling.trace.json_stream import Header, stream_events
from gantune.profiling.trace.xplane import is_xplane, stream_xplane


def read_trace(path: Path) -> Trace:
    """Read all complete events of a trace, in one pass over the file: JSON or TensorFlow's xplane, or gzip.

    Raises `CheckpointError` for a file that is absent, empty, binary, no trace, or without one timed event.
    """
    header, builder = Header(), TraceBuilder()
    for event in stream_xplane(path, header) if is_xplane(path) else stream_events(path, header):
        builder.add(event)
    if not builder.start:
        raise CheckpointError(
            f"{path} holds no event with a duration, so there is nothing to judge. "
            "Record the trace again around the steps you want to see."
        )
    return builder.build(header)
