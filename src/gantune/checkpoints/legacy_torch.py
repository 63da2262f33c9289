"""Read the older torch format (before 1.6): five pickles in a row, then the raw numbers of every storage.

NVIDIA's pickles hold each tensor's storage in this format too, as bytes for `torch.storage._load_from_bytes`.
"""

from collections.abc import Mapping
from typing import Final

import torch

from gantune.checkpoints.container_builders import CONTAINER_BUILDERS
from gantune.checkpoints.inert import describe_value
from gantune.checkpoints.numpy_builders import NUMPY_BUILDERS
from gantune.checkpoints.pickle_machine import Builder
from gantune.checkpoints.reading_budget import ReadingBudget
from gantune.checkpoints.safe_pickle import read_pickle
from gantune.checkpoints.tensor_builders import TENSOR_BUILDERS, Storage, storage_dtype
from gantune.errors import CheckpointError

LEGACY_MAGIC: Final = 0x1950A86A20F9469CFC6C
LEGACY_MAGIC_BYTES: Final = LEGACY_MAGIC.to_bytes(10, "little")
_PROTOCOL_VERSION: Final = 1001

FLAT_BUILDERS: Final[Mapping[str, Builder]] = {**CONTAINER_BUILDERS, **NUMPY_BUILDERS, **TENSOR_BUILDERS}
"""The allow-list inside a torch file: containers, arrays, tensors, and nothing nested."""


def read_legacy_torch(data: memoryview, budget: ReadingBudget) -> object:
    """Decode the object in a legacy torch file; raise `CheckpointError` where it is damaged or hostile."""
    return _LegacyReader(data, budget).read()


class _LegacyReader:
    """The position in one legacy file and the storages its pickle asked for, filled at the end."""

    def __init__(self, data: memoryview, budget: ReadingBudget) -> None:
        self._data = data
        self._budget = budget
        self._storages: dict[str, Storage] = {}

    def read(self) -> object:
        """Read the header, the object and then its numbers."""
        if self._next_pickle() != LEGACY_MAGIC or self._next_pickle() != _PROTOCOL_VERSION:
            raise CheckpointError("The data is not in the torch format it claims: it is damaged.")
        system = self._next_pickle()
        is_little = system.get("little_endian", True) if isinstance(system, dict) else True
        value = self._next_pickle()
        keys = self._next_pickle()
        if (
            not isinstance(keys, list)
            or len(keys) != len(self._storages)
            or set(map(str, keys)) != set(self._storages)
        ):
            raise CheckpointError("The torch file lists other storages than its tensors need: it is damaged.")
        for key in keys:
            self._fill(self._storages[str(key)], is_little=bool(is_little))
        return value

    def _next_pickle(self) -> object:
        value, length = read_pickle(
            self._data, self._budget, builders=FLAT_BUILDERS, persistent_load=self._promise_storage
        )
        self._data = self._data[length:]
        return value

    def _promise_storage(self, identity: object) -> Storage:
        if not isinstance(identity, tuple) or len(identity) not in (5, 6) or identity[0] != "storage":
            raise CheckpointError(
                f"The torch file refers to {describe_value(identity)} instead of a storage."
            )
        _, storage_class, key, _, count = identity[:5]
        if len(identity) == 6 and identity[5] is not None:
            raise CheckpointError("The torch file holds storages as views of each other (torch before 0.4).")
        if not isinstance(key, str | int) or type(count) is not int:
            raise CheckpointError("The torch file describes a storage in an unknown way: it is damaged.")
        storage = self._storages.get(str(key))
        if storage is None:
            dtype = storage_dtype(storage_class)
            self._budget.spend_bytes(count * dtype.itemsize, "a tensor")
            storage = self._storages[str(key)] = Storage(torch.zeros(count, dtype=dtype))
        return storage

    def _fill(self, storage: Storage, *, is_little: bool) -> None:
        values = storage.values
        length = values.numel() * values.element_size()
        count = int.from_bytes(self._data[:8], "little")
        if count != values.numel() or len(self._data) < 8 + length:
            raise CheckpointError(
                "The torch file ends early or its sizes disagree: it is truncated or damaged."
            )
        copy_bytes(self._data[8 : 8 + length], storage, is_little=is_little)
        self._data = self._data[8 + length :]


def copy_bytes(raw: memoryview, storage: Storage, *, is_little: bool) -> None:
    """Copy the bytes of a storage into its tensor; turn the byte order where the file has the other one."""
    target = storage.values.view(torch.uint8).numpy()
    target[:] = raw
    size = storage.values.element_size()
    if not is_little and size > 1:
        target.reshape(-1, size)[:] = target.reshape(-1, size)[:, ::-1].copy()


def _load_nested(arguments: tuple[object, ...], budget: ReadingBudget) -> object:
    data = arguments[0]
    if len(arguments) != 1 or not isinstance(data, bytes | memoryview):
        raise CheckpointError(
            f"The pickle loads a tensor from {describe_value(arguments)}: it is damaged or hostile."
        )
    # The same bytes may be loaded again and again from the memo, so they count each time.
    budget.spend_bytes(len(data), "a nested torch file")
    return read_legacy_torch(memoryview(data), budget)


PICKLE_BUILDERS: Final[Mapping[str, Builder]] = {
    **FLAT_BUILDERS,
    "torch.storage._load_from_bytes": _load_nested,
}
"""The allow-list of a bare pickle: as in a torch file, and storages nested as bytes."""
