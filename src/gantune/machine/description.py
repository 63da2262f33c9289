"""The whole machine as one record, and as the text that `doctor` prints."""

import platform

from gantune.machine.allocator import find_allocator
from gantune.machine.environment import read_variables
from gantune.machine.libraries import library_versions, torch_devices, torch_linkage
from gantune.machine.processor import instruction_sets, memory_bytes, num_usable_cores, processor_name
from gantune.records.machine import Machine


def describe_machine(*, with_linkage: bool = False) -> Machine:
    """Describe this machine; `with_linkage` imports torch to say how it was built and what it sees."""
    return Machine(
        processor=processor_name(),
        architecture=platform.machine(),
        num_cores=num_usable_cores(),
        instruction_sets=instruction_sets(),
        memory_bytes=memory_bytes(),
        operating_system=f"{platform.system()} {platform.release()}",
        c_library=" ".join(platform.libc_ver()).strip() or "unknown",
        python=platform.python_version(),
        allocator=find_allocator(),
        libraries=library_versions(),
        environment=read_variables(),
        linkage=torch_linkage() if with_linkage else None,
        devices=torch_devices() if with_linkage else (),
    )


def machine_text(machine: Machine) -> str:
    """Write the machine as lines of `name  value`, ending with a hint where the allocator costs time."""
    rows = [
        ("processor", f"{machine.processor} ({machine.architecture}), {machine.num_cores} cores"),
        ("instructions", ", ".join(machine.instruction_sets) or "none that matter"),
        ("memory", f"{machine.memory_bytes / 2**30:.1f} GiB"),
        ("system", f"{machine.operating_system}, {machine.c_library}, Python {machine.python}"),
        ("libraries", ", ".join(f"{name} {number}" for name, number in machine.libraries.items())),
        ("allocator", machine.allocator + _allocator_hint(machine)),
        ("environment", _pairs(machine.environment) or "none of the variables that matter is set"),
    ]
    if machine.linkage is not None:
        rows.append(("torch", _pairs(machine.linkage)))
        rows.append(("accelerators", ", ".join(machine.devices) or "none"))
    return "\n".join(f"{name:<13} {value}" for name, value in rows)


def _allocator_hint(machine: Machine) -> str:
    if machine.allocator != "glibc":
        return ""
    return ": maps every large tensor anew; gantune.runtime.load(..., tune_allocator=True) keeps the memory"


def _pairs(values: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
