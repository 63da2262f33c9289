"""Record calls of a network as a trace: operators with shapes, memory, one step a call."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from gantune.profiling.trace import Trace, read_trace


def capture_calls(call: Callable[[], object], *, num_calls: int = 3) -> Trace:
    """Call once inside the profiler to warm it up, then record `num_calls` as steps."""
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
    with (
        torch.inference_mode(),
        profile(activities=activities, record_shapes=True, profile_memory=True) as seen,
    ):
        call()
        for number in range(num_calls):
            with record_function(f"ProfilerStep#{number}"):
                call()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        seen.export_chrome_trace(str(path))
        return read_trace(path)
