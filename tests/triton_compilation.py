"""Compile the Triton kernels of official layers for a GPU that need not be here; run as a script.

Prints one JSON document: for each kernel its name, the shared memory it asks for and that the device has,
and the bytes of registers that spilled. Arguments: compute capability, multiprocessors, shared memory, dtype.
"""

import inspect
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from gantune.ops.triton import activation, filtered_activation, launching, resample
from gantune.ops.triton.device_facts import (
    GPU_MOST_ELEMENTS,
    GPU_PROGRAM_COST_MACS,
    PROGRAMS_A_MULTIPROCESSOR,
    DeviceFacts,
)

POINTERS = {torch.float32: "*fp32", torch.float16: "*fp16", torch.bfloat16: "*bf16"}
CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"


class Compiler:
    """Stand in for a kernel: where that would be launched, compile it and note what it needs."""

    def __init__(self, kernel: object, capability: int, found: list[dict[str, object]]) -> None:
        self.kernel, self.capability, self.found = kernel, capability, found

    def __getitem__(self, grid: tuple[int, ...]) -> "Compiler":
        assert 0 < grid[0] < 2**31
        return self

    def __call__(self, *arguments: object, num_warps: int, **constants: object) -> None:
        parameters = inspect.signature(self.kernel.fn).parameters
        signature: dict[str, str] = dict.fromkeys(constants, "constexpr")
        values = dict(constants)
        aligned = {}
        for index, (name, value) in enumerate(zip(parameters, arguments, strict=False)):
            if isinstance(value, torch.Tensor):
                signature[name] = POINTERS[value.dtype]
            elif value == 1:
                signature[name], values[name] = "constexpr", 1
            else:
                signature[name] = {"tl.int64": "i64"}.get(str(parameters[name].annotation), "i32")
                if parameters[name].annotation.name == "int64":
                    signature[name] = "i64"
            if isinstance(value, torch.Tensor) or (value != 1 and value % 16 == 0):
                aligned[(index,)] = [["tt.divisibility", 16]]
        compiled = triton.compile(
            ASTSource(self.kernel, signature, values, aligned),
            target=GPUTarget("cuda", self.capability, 32),
            options={"num_warps": num_warps},
        )
        self.found.append(
            {
                "kernel": self.kernel.fn.__name__,
                "shared_bytes": compiled.metadata.shared,
                "spilled_bytes": read_spilled_bytes(compiled.asm["cubin"]),
            }
        )


def read_spilled_bytes(binary: bytes) -> int:
    """Return how many bytes of a thread's registers a kernel keeps in local memory."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary)
        file.flush()
        command = [str(CUOBJDUMP), "-res-usage", file.name]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    [stack] = re.findall(r"STACK:(\d+)", told)
    return int(stack)


def call_operators(dtype: torch.dtype) -> None:
    """Ask for every kernel as the official layers do; memory stays uninitialised and is never touched."""

    def images(*shape: int, last: bool = False) -> torch.Tensor:
        layout = torch.channels_last if last else torch.contiguous_format
        return torch.empty(shape, dtype=dtype).contiguous(memory_format=layout)

    four, twelve = torch.ones(4, 4), torch.ones(12)
    for last in (False, True):
        x = images(1, 64, 256, 256, last=last)
        resample.resample(x, four, [2, 2], [1, 1], [2, 1, 2, 1], False, 4.0)
        resample.resample(x, four, [1, 1], [2, 2], [1, 1, 1, 1], False, 1.0)
        resample.resample(x, twelve, [2, 2], [1, 1], [6, 5, 6, 5], False, 4.0)
        resample.resample(x, twelve, [1, 1], [2, 2], [5, 5, 5, 5], False, 1.0)
        tail = (x, images(1, 64), images(1, 1, 256, 256), images(64), 1, "lrelu", 0.2, 1.4, 256.0)
        activation.activate(*tail)
        activation.activate_gradient(x, *tail)
        activation.activate_curvature(x, x, *tail[:5], "swish", 0.0, 1.4, None)
    layers = [(512, 54, 2, 12, 8), (362, 86, 4, 24, 14), (91, 278, 2, 12, 8)]
    for channels, size, up, taps, pad in layers:
        x = images(1, channels, size, size)
        tail = (torch.ones(taps), twelve, images(channels), up, 2, [pad] * 4, 1.4, 0.2, 256.0, False)
        y = filtered_activation.filter_activation(x, None, *tail)
        filtered_activation.filter_activation_gradient(y, x, *tail)
    radial = (twelve, torch.ones(12, 12), None, 2, 2, [8] * 4, 1.4, 0.2, None, False)
    x = images(1, 128, 64, 64, last=True)
    filtered_activation.filter_activation_gradient(images(1, 128, 54, 54, last=True), x, *radial)
    filtered_activation.filter_activation(x, x, *radial)


def main() -> None:
    capability, multiprocessors, shared_bytes = map(int, sys.argv[1:4])
    facts = DeviceFacts(
        num_multiprocessors=multiprocessors,
        programs_wanted=PROGRAMS_A_MULTIPROCESSOR * multiprocessors,
        shared_memory_bytes=shared_bytes,
        program_cost_macs=GPU_PROGRAM_COST_MACS,
        most_elements=GPU_MOST_ELEMENTS,
    )
    found: list[dict[str, object]] = []
    for module in (activation, filtered_activation, resample):
        module.find_facts = lambda _: facts
        module.load_kernel = lambda file, name: Compiler(launching.load_kernel(file, name), capability, found)
    call_operators(getattr(torch, sys.argv[4]))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
