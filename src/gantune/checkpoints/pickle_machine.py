"""The state of one pickle being decoded, and the few steps its opcodes are made of."""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from gantune.checkpoints.hostile_names import refuse_hostile_name
from gantune.checkpoints.inert import InertGlobal, InertObject
from gantune.checkpoints.reading_budget import ReadingBudget
from gantune.errors import CheckpointError

Builder = Callable[[tuple[object, ...], ReadingBudget], object]
PersistentLoader = Callable[[object], object]

_MAX_LINE_BYTES: Final = 512
_MAX_KEY_PARTS: Final = 16
_KEY_TYPES: Final = (str, int, float, bool, bytes, type(None), InertGlobal, InertObject)
_COMPUTED = "a computed callable"


class PickleMachine:
    """Hold bytes, position, the stack, the stacks below open marks, and the memo."""

    def __init__(
        self,
        data: memoryview,
        budget: ReadingBudget,
        builders: Mapping[str, Builder],
        persistent_load: PersistentLoader | None,
    ) -> None:
        self.position = 0
        self.stack: list[object] = []
        self.memo: dict[int, object] = {}
        self.budget = budget
        self._data = data
        self._builders = builders
        self._persistent_load = persistent_load
        self._marked: list[list[object]] = []

    def push(self, value: object) -> None:
        """Put a value on the current stack."""
        self.stack.append(value)

    def take(self, count: int) -> memoryview:
        """Return the next `count` bytes; raise `CheckpointError` where the file ends before them."""
        end = self.position + count
        if end > len(self._data):
            raise CheckpointError(
                f"The pickle needs {count} more bytes at byte {self.position} and the file has "
                f"{len(self._data) - self.position}: it is truncated or damaged; download or copy it again."
            )
        view = self._data[self.position : end]
        self.position = end
        return view

    def take_number(self, layout: str) -> int:
        """Return the next integer in the `struct` layout given."""
        number: int = struct.unpack(layout, self.take(struct.calcsize(layout)))[0]
        return number

    def take_line(self) -> str:
        """Return the text up to the next line end."""
        window = bytes(self._data[self.position : self.position + _MAX_LINE_BYTES])
        line, newline, _ = window.partition(b"\n")
        if not newline:
            raise CheckpointError(
                f"The pickle has a name without an end at byte {self.position}: it is damaged."
            )
        self.position += len(line) + 1
        return line.decode("utf-8")

    def open_mark(self) -> None:
        """Start a new stack above the current one."""
        self._marked.append(self.stack)
        self.stack = []

    def close_mark(self) -> list[object]:
        """Return everything above the last mark and go back to the stack below it."""
        items = self.stack
        self.stack = self._marked.pop()
        return items

    def push_global(self, module: object, name: object) -> None:
        """Push the record of a global's name; raise `CheckpointError` where only an attack would name it."""
        if not isinstance(module, str) or not isinstance(name, str):
            raise CheckpointError(
                "The pickle names a global by something that is not text: it is damaged or hostile."
            )
        if len(module) + len(name) > _MAX_LINE_BYTES:
            raise CheckpointError("The pickle names a global of absurd length: it is damaged or hostile.")
        qualified = f"{module}.{name}"
        refuse_hostile_name(qualified)
        self.stack.append(InertGlobal(qualified))

    def construct(self, what: object, arguments: object) -> object:
        """Build from the allow-list, or keep the call as data."""
        if not isinstance(what, InertGlobal) or not isinstance(arguments, tuple):
            return InertObject(_COMPUTED, (what, arguments))
        builder = self._builders.get(what.name)
        return InertObject(what.name, arguments) if builder is None else builder(arguments, self.budget)

    def construct_with_keywords(self, what: object, arguments: object, keywords: object) -> object:
        """Keep a call with keyword arguments as data: nothing on the allow-list takes any."""
        return InertObject(what.name if isinstance(what, InertGlobal) else _COMPUTED, (arguments, keywords))

    def fetch_persistent(self, identity: object) -> object:
        """Fetch data that lies outside the pickle (a storage of the torch file around it)."""
        if self._persistent_load is None:
            raise CheckpointError("The pickle refers to data outside itself; it is a part of another file.")
        return self._persistent_load(identity)

    def extend_top(self, values: list[object]) -> None:
        """Append values to the list on top of the stack."""
        target = self.stack[-1]
        if isinstance(target, InertObject):
            target.items.extend(values)
        elif isinstance(target, list):
            target.extend(values)
        else:
            raise CheckpointError(
                f"The pickle appends to a {type(target).__name__}: it is damaged or hostile."
            )

    def set_items_on_top(self, flat: list[object]) -> None:
        """Set key, value, key, value … in the dictionary on top of the stack."""
        target = self.stack[-1]
        pairs = zip(flat[::2], flat[1::2], strict=True)
        if isinstance(target, InertObject):
            target.items.extend(pairs)
        elif isinstance(target, dict):
            for key, value in pairs:
                target[self._checked_key(key)] = value
        else:
            raise CheckpointError(
                f"The pickle sets items of a {type(target).__name__}: it is damaged or hostile."
            )

    def checked_keys(self, values: Iterable[object]) -> list[object]:
        """Return values that are safe to hash; raise `CheckpointError` at the first that is not."""
        return [self._checked_key(value) for value in values]

    def _checked_key(self, key: object) -> object:
        if type(key) is str:
            return key
        self.budget.spend_unusual_key()
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) <= _MAX_KEY_PARTS and all(isinstance(part, _KEY_TYPES) for part in parts):
            return key
        raise CheckpointError(f"The pickle uses a {type(key).__name__} as a key; no checkpoint does.")
