"""What launch plans must know of a device, and whether the Triton forms can run at all."""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

import torch

from gantune.machine import read_variable


@dataclass(frozen=True)
class DeviceFacts:
    """Describe a device by the numbers that decide tile sizes.

    With `programs_wanted` programs, loads hide behind each other. `shared_memory_bytes` is the most that one
    program may use. `program_cost_macs` is the fixed cost of a program, in multiply-adds; `most_elements` the
    largest tile of a memory-bound kernel.
    """

    num_multiprocessors: int
    programs_wanted: int
    shared_memory_bytes: int
    program_cost_macs: int
    most_elements: int


# A GPU program's start, index arithmetic and band matrices cost about as much as these multiply-adds.
GPU_PROGRAM_COST_MACS = 100_000
PROGRAMS_A_MULTIPROCESSOR = 4
# 2048 elements are 16 a thread in 4 warps: enough loads in flight, and no register spilled.
GPU_MOST_ELEMENTS = 2048
# Each operation of a program is a call of numpy there, so few and large programs are best.
INTERPRETER = DeviceFacts(
    num_multiprocessors=1,
    programs_wanted=1,
    shared_memory_bytes=2**25,
    program_cost_macs=20_000_000,
    most_elements=2**17,
)


def find_missing() -> str | None:
    """Return None where Triton kernels can run, else the reason in one line."""
    if find_spec("triton") is None:
        return "triton is not installed: pip install 'gantune[triton]'"
    if is_interpreting() or torch.cuda.is_available():
        return None
    return "there is no CUDA device (TRITON_INTERPRET=1 runs the kernels slowly on the CPU)"


def is_interpreting() -> bool:
    """Tell whether Triton runs kernels in its interpreter, on tensors of the CPU."""
    return (read_variable("TRITON_INTERPRET") or "0").lower() in ("1", "true", "on", "yes")


def find_facts(device: torch.device) -> DeviceFacts:
    """Return the facts of the device that holds a tensor; asked once for each device."""
    return _read_facts(device.type, device.index)


@cache
def _read_facts(kind: str, index: int | None) -> DeviceFacts:
    if kind == "cpu":
        return INTERPRETER
    properties = torch.cuda.get_device_properties(index)
    return DeviceFacts(
        num_multiprocessors=properties.multi_processor_count,
        programs_wanted=PROGRAMS_A_MULTIPROCESSOR * properties.multi_processor_count,
        # What a program may ask for beyond the first 48 KiB; torch names it since 2.6.
        shared_memory_bytes=getattr(
            properties, "shared_memory_per_block_optin", properties.shared_memory_per_block
        ),
        program_cost_macs=GPU_PROGRAM_COST_MACS,
        most_elements=GPU_MOST_ELEMENTS,
    )
