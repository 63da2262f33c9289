"""Read a pickle without running any of it.

This is a small interpreter of the pickle opcodes (protocols 2 to 5), not a subclass of `pickle.Unpickler`:

- Nothing is ever imported or called by a name in the file. A global becomes an `InertGlobal`, a record of its
  name. Calling one (REDUCE, NEWOBJ) looks the name up in a fixed dictionary of gantune's own builders, each
  of which checks its arguments and makes plain containers, arrays or tensors; any other name becomes an
  `InertObject` that holds the arguments. BUILD only stores data.
- Memory is bounded by the file: strings are taken only when the bytes are there, arrays and storages are
  charged to a `ReadingBudget` of the file's own size, and the number of opcodes is limited. The memo is a
  dictionary, so a huge memo index costs nothing.
- Time is bounded: every opcode costs time in its own bytes; keys are scalars or flat tuples of them, so
  hashing never walks a shared tree (the "billion laughs"); nothing recurses.
- A name that only an attack would use (`os.system`, `builtins.eval`, `torch.load` …) refuses the whole file.
"""

import mmap
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gantune.checkpoints.pickle_machine import Builder, PersistentLoader, PickleMachine
from gantune.checkpoints.pickle_opcodes import OPCODE_NAMES, OPCODES, STOP
from gantune.checkpoints.reading_budget import ReadingBudget
from gantune.errors import CheckpointError

_DAMAGE: Final = (IndexError, KeyError, TypeError, ValueError, OverflowError, struct.error)


def read_pickle(
    data: memoryview,
    budget: ReadingBudget,
    *,
    builders: Mapping[str, Builder],
    persistent_load: PersistentLoader | None = None,
) -> tuple[object, int]:
    """Decode one pickle at the start of `data`; return its value and the number of bytes it took.

    `builders` is the allow-list: what may be built, by qualified name. Raises `CheckpointError` for anything
    damaged, truncated, too large for its file, or hostile.
    """
    machine = PickleMachine(data, budget, builders, persistent_load)
    try:
        value = _run(machine)
    except _DAMAGE as error:
        raise CheckpointError(f"The pickle is damaged at byte {machine.position} ({error}).") from error
    return value, machine.position


def read_pickle_file(path: Path, builders: Mapping[str, Builder]) -> object:
    """Decode the pickle in the file at `path` with the allow-list `builders`.

    Raises `CheckpointError` for a damaged or hostile file.
    """
    data = map_file(path)
    value, _ = read_pickle(data, ReadingBudget(len(data)), builders=builders)
    return value


def map_file(path: Path) -> memoryview:
    """Return the bytes of a file without reading them; the mapping lives as long as a view of it does."""
    if path.stat().st_size == 0:
        raise CheckpointError(f"{path} is empty; download or copy it again.")
    with path.open("rb") as stream:
        return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))


def _run(machine: PickleMachine) -> object:
    while True:
        machine.budget.spend_operations()
        code = machine.take(1)[0]
        if code == STOP:
            return machine.stack.pop()
        handler = OPCODES.get(code)
        if handler is None:
            found = OPCODE_NAMES.get(code, hex(code))
            raise CheckpointError(
                f"The pickle holds the opcode {found} at byte {machine.position - 1}, "
                "which no checkpoint of pickle protocols 2 to 5 needs: damaged or hostile."
            )
        handler(machine)
