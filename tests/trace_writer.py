"""Chrome traces written event by event, for tests: a device, its host, and whatever they do."""

import json
from pathlib import Path

from gantune.profiling.scene import Scene, see
from gantune.profiling.trace import read_trace

Event = dict[str, object]
A100 = {"name": "NVIDIA A100", "numSms": 108, "maxThreadsPerMultiprocessor": 2048, "computeMajor": 8}


def event(
    category: str, name: str, start_us: float, duration_us: float, *, thread: int = 1, **args: object
) -> Event:
    """Make a complete event of the host."""
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 1,
        "tid": thread,
        "ts": start_us,
        "dur": duration_us,
        "args": args,
    }


def kernel(name: str, start_us: float, duration_us: float, *, link: int = 0, **args: object) -> Event:
    """Make a kernel on the device's stream; `link` names the call that launched it."""
    made = event("kernel", name, start_us, duration_us, **args)
    made["args"] = {"correlation": link, "device": 0, "stream": 7, **args}
    return made | {"pid": 0, "tid": 7}


def launch(start_us: float, *, link: int, duration_us: float = 5, name: str = "cudaLaunchKernel") -> Event:
    """Make the runtime call that starts the device work with the same link."""
    return event("cuda_runtime", name, start_us, duration_us, correlation=link)


def steps(count: int, length_us: float) -> list[Event]:
    """Make steps one after the other, from time 0."""
    return [event("user_annotation", f"ProfilerStep#{i}", i * length_us, length_us) for i in range(count)]


def write_trace(path: Path, events: list[Event], *, device: Event | None = None) -> Path:
    """Write a trace as PyTorch does."""
    header: Event = {"schemaVersion": 1, "deviceProperties": [device] if device else []}
    path.write_text(json.dumps({**header, "traceEvents": events}))
    return path


def scene_of(folder: Path, events: list[Event], *, device: Event | None = None) -> Scene:
    """Write the events and read them back as a scene."""
    return see(read_trace(write_trace(folder / "trace.json", events, device=device)))
