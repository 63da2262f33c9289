"""The machine gantune runs on: processor, libraries, allocator, environment; nothing heavy is imported."""

from gantune.machine.allocator import find_allocator, is_glibc
from gantune.machine.description import describe_machine, machine_text
from gantune.machine.environment import (
    ALLOCATOR_VARIABLES,
    TUNED_ALLOCATOR,
    VARIABLES,
    Variable,
    child_environment,
    read_variable,
    read_variables,
)

__all__ = [
    "ALLOCATOR_VARIABLES",
    "TUNED_ALLOCATOR",
    "VARIABLES",
    "Variable",
    "child_environment",
    "describe_machine",
    "find_allocator",
    "is_glibc",
    "machine_text",
    "read_variable",
    "read_variables",
]
