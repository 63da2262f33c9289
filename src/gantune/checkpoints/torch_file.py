"""Read a file written by `torch.save`, zip format (since 1.6) or legacy, without running any of it."""

import struct
import zipfile
from pathlib import Path
from typing import Final

import torch

from gantune.checkpoints.inert import describe_value
from gantune.checkpoints.legacy_torch import FLAT_BUILDERS, copy_bytes, read_legacy_torch
from gantune.checkpoints.reading_budget import ReadingBudget
from gantune.checkpoints.safe_pickle import map_file, read_pickle
from gantune.checkpoints.tensor_builders import Storage, storage_dtype
from gantune.errors import CheckpointError

ZIP_SIGNATURE: Final = b"PK\x03\x04"
_MAX_DIRECTORY_BYTES: Final = 32 * 2**20
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    NotImplementedError,
    EOFError,
    ValueError,
    KeyError,
)


def read_torch_file(path: Path) -> object:
    """Decode what `torch.save` wrote at `path` into plain containers, arrays, tensors and inert placeholders.

    Raises `CheckpointError` for a file that is truncated, damaged, hostile, or claims more than its own size.
    """
    with path.open("rb") as stream:
        is_zip = stream.read(4) == ZIP_SIGNATURE
    if is_zip:
        return _read_zip(path)
    data = map_file(path)
    return read_legacy_torch(data, ReadingBudget(len(data)))


def _read_zip(path: Path) -> object:
    _check_directory_size(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return _ZipReader(archive, path.stat().st_size).read()
    except (*_DAMAGE, struct.error, OSError) as error:
        raise CheckpointError(
            f"{path} is a damaged or truncated torch file ({error}); download it again."
        ) from error


def _check_directory_size(path: Path) -> None:
    """Refuse a zip whose list of entries is larger than any checkpoint's, before `zipfile` reads it all."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        stream.seek(max(0, size - 65557 - 20))
        tail = stream.read()
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) < end + 22:
        raise CheckpointError(
            f"{path} is a torch file without its end: it is truncated; download or copy it again."
        )
    directory_bytes = int.from_bytes(tail[end + 12 : end + 16], "little")
    if directory_bytes == 0xFFFFFFFF and tail[max(0, end - 20) : end].startswith(b"PK\x06\x07"):
        offset = int.from_bytes(tail[end - 12 : end - 4], "little")
        with path.open("rb") as stream:
            stream.seek(min(offset, size))
            directory_bytes = int.from_bytes(stream.read(56)[40:48], "little")
    if directory_bytes > _MAX_DIRECTORY_BYTES:
        raise CheckpointError(
            f"{path} claims a list of entries of {directory_bytes} bytes: it is damaged or hostile."
        )


class _ZipReader:
    """One open torch zip: its entries by the name after the top folder, and the storages read so far."""

    def __init__(self, archive: zipfile.ZipFile, file_bytes: int) -> None:
        self._archive = archive
        self._budget = ReadingBudget(file_bytes)
        self._storages: dict[str, Storage] = {}
        self._entries = {}
        for entry in archive.infolist():
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
                raise CheckpointError(
                    "The zip holds compressed data, which torch.save never writes; it is refused."
                )
            self._budget.spend_bytes(entry.file_size, "the entries of the zip")
            _, _, name = entry.filename.partition("/")
            self._entries[name] = entry
        # The entries fit the file once; the storages they become are charged again, from the start.
        self._budget = ReadingBudget(file_bytes)

    def read(self) -> object:
        """Decode `data.pkl`, fetching storages as it asks for them."""
        if "data.pkl" not in self._entries:
            raise CheckpointError(
                "The zip holds no data.pkl: torch.save did not write it (another kind of zip?)."
            )
        byte_order = self._read_entry("byteorder") if "byteorder" in self._entries else b"little"
        self._is_little = byte_order != b"big"
        data = memoryview(self._read_entry("data.pkl"))
        value, _ = read_pickle(data, self._budget, builders=FLAT_BUILDERS, persistent_load=self._load_storage)
        return value

    def _read_entry(self, name: str) -> bytes:
        entry = self._entries.get(name)
        if entry is None:
            raise CheckpointError(f"The torch file lacks its entry {name!r}: it is damaged.")
        data = self._archive.read(entry)
        if len(data) != entry.file_size:
            raise CheckpointError(f"The torch file ends within its entry {name!r}: it is truncated.")
        return data

    def _load_storage(self, identity: object) -> Storage:
        if not isinstance(identity, tuple) or len(identity) != 5 or identity[0] != "storage":
            raise CheckpointError(
                f"The torch file refers to {describe_value(identity)} instead of a storage."
            )
        _, storage_class, key, _, count = identity
        if not isinstance(key, str) or type(count) is not int:
            raise CheckpointError("The torch file describes a storage in an unknown way: it is damaged.")
        if key not in self._storages:
            self._storages[key] = self._read_storage(key, storage_dtype(storage_class), count)
        return self._storages[key]

    def _read_storage(self, key: str, dtype: torch.dtype, count: int) -> Storage:
        raw = self._read_entry(f"data/{key}")
        if len(raw) != count * dtype.itemsize:
            raise CheckpointError(
                f"The torch file claims {count} numbers in storage {key!r}, which has {len(raw)} bytes."
            )
        self._budget.spend_bytes(len(raw), "a tensor")
        storage = Storage(torch.zeros(count, dtype=dtype))
        copy_bytes(memoryview(raw), storage, is_little=self._is_little)
        return storage
