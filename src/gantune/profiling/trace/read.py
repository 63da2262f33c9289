"""Read a trace file of any of the profilers: Kineto in all its schemas, TensorFlow, any Chrome trace."""

from pathlib import Path

from gantune.errors import CheckpointError
from gantune.profiling.trace.builder import TraceBuilder
from gantune.profiling.trace.events import Trace
from gantune.profiling.trace.json_stream import Header, stream_events


def read_trace(path: Path) -> Trace:
    """Read all complete events of a JSON or JSON.gz trace, in one pass over the file.

    Raises `CheckpointError` for a file that is absent, empty, binary, no trace, or without one timed event.
    """
    header, builder = Header(), TraceBuilder()
    for event in stream_events(path, header):
        builder.add(event)
    if not builder.start:
        raise CheckpointError(
            f"{path} holds no event with a duration, so there is nothing to judge. "
            "Record the trace again around the steps you want to see."
        )
    return builder.build(header)
