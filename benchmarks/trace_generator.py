"""Write a large trace, event by event: operators with shapes and stacks, launches, kernels with geometry."""

import json
from collections.abc import Iterator
from pathlib import Path

_HEADER = (
    '{"schemaVersion": 1, "deviceProperties": [{"name": "NVIDIA A100", "numSms": 108, "computeMajor": 8}], '
)


def write_large_trace(path: Path, num_bytes: int) -> int:
    """Write at least `num_bytes` of trace text, and return the number of events."""
    written = num_events = 0
    with path.open("w") as file:
        written += file.write(_HEADER + '"traceEvents": [\n')
        for number, event in enumerate(_events()):
            text = json.dumps(event)
            written += file.write(text if number == 0 else ",\n" + text)
            num_events += 1
            if written >= num_bytes:
                break
        file.write("\n]}\n")
    return num_events


def _events() -> Iterator[dict[str, object]]:
    time_us, number = 1.7e15, 0
    while True:
        number += 1
        time_us += 30
        host = {"ph": "X", "pid": 1, "tid": 1}
        stack = f"torch/nn/modules/conv.py(1): forward;train.py({number % 40}): step"
        shapes = {"Input Dims": [[64, number % 50, 32, 32], []], "Input type": ["float", "Scalar"]}
        args: dict[str, object] = {"External id": number, **shapes, "Call stack": stack}
        name = f"aten::op{number % 300}"
        yield {**host, "cat": "cpu_op", "name": name, "ts": time_us, "dur": 25.0, "args": args}
        call = {"External id": number, "cbid": 211, "correlation": number}
        launch = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": time_us + 5, "dur": 6.0}
        yield {**host, **launch, "args": call}
        yield {
            "ph": "X",
            "cat": "kernel",
            "name": f"void at::native::vectorized_elementwise_kernel<{number % 400}>(int, float*)",
            "pid": 0,
            "tid": 7,
            "ts": time_us + 15,
            "dur": 9.5,
            "args": {
                "External id": number,
                "device": 0,
                "stream": 7,
                "correlation": number,
                "registers per thread": 32,
                "grid": [270, 1, 1],
                "block": [128, 1, 1],
                "est. achieved occupancy %": 31,
            },
        }
