"""Open and write programs of torch.export so that nothing the file says can run as code.

`torch.export.load` unpickles what an archive asks it to, evaluates a graph's expressions as Python, imports
what its trees of inputs name, and lets it call operators that write files. gantune reads the archive itself:
a graph that `program_document` accepts, and tensors as bytes.
"""

import json
import zipfile
from pathlib import Path
from re import fullmatch
from typing import TYPE_CHECKING

import torch
from torch import Tensor, fx

from gantune.errors import CheckpointError, first_line
from gantune.runtime.engines.program_document import Json, as_list, as_size, as_table, find_fault
from gantune.runtime.engines.program_graph import DTYPES, build_graph

if TYPE_CHECKING:
    from torch.export import ExportedProgram

# The version of torch.export's document that is read, which numbers dtypes and kinds.
_SCHEMA = 8
_DOCUMENT = "models/model.json"
_SAMPLES = "data/sample_inputs/model.pt"
_TENSORS = {"data/weights/": r"weight_\d+", "data/constants/": r"tensor_\d+"}
_CONFIGURATIONS = ("data/weights/model_weights_config.json", "data/constants/model_constants_config.json")
_FIXED = {
    _DOCUMENT,
    _SAMPLES,
    *_CONFIGURATIONS,
    "archive_format",
    "archive_version",
    "byteorder",
    ".data/version",
    ".data/serialization_id",
    "version",
}
# What an archive or a graph that is damaged raises.
_DAMAGE = (
    RuntimeError,
    ValueError,
    LookupError,
    OSError,
    AssertionError,
    TypeError,
    AttributeError,
    zipfile.BadZipFile,
)


def open_program(path: Path, *, device: torch.device | None = None) -> fx.GraphModule:
    """Load the program at `path` as a module on `device` (the CPU).

    Raise `CheckpointError` for a file that gantune's export did not write.
    """
    try:
        with zipfile.ZipFile(path) as members:
            archive = _Archive(path, members)
            return build_graph(archive.document, archive.read_tensor, device=device or torch.device("cpu"))
    except _DAMAGE as error:
        raise CheckpointError(f"{path} cannot be read as a program: {first_line(error)}") from error


def save_program(program: "ExportedProgram", path: Path) -> None:
    """Write a program without its sample inputs, which torch would pickle; changes the program so."""
    program.example_inputs = None
    torch.export.save(program, path)


class _Archive:
    """A checked archive: its graph's document, and its tensors by name."""

    def __init__(self, path: Path, members: zipfile.ZipFile) -> None:
        self._path = path
        self._members = members
        # torch writes everything under one folder, named after the file it first wrote.
        self._root = members.namelist()[0].partition("/")[0] + "/"
        self._records: dict[str, tuple[str, dict[str, Json]]] = {}
        # Tensors may share a record, as tied weights do.
        self._stores: dict[str, Tensor] = {}
        self._check_members()
        for name in _CONFIGURATIONS:
            self._read_configuration(name)
        self.document: Json = json.loads(self._read(_DOCUMENT))
        written = as_table(as_table(self.document)["schema_version"])["major"], self._read("byteorder")
        if written != (_SCHEMA, b"little"):
            raise ValueError(f"it is written in version {written[0]} of its format, not {_SCHEMA}")
        fault = find_fault(self.document)
        if fault is not None:
            raise _refusal(path, fault)

    def read_tensor(self, name: str) -> Tensor:
        """Return a tensor of the program, with the strides it was written with."""
        record, meta = self._records[name]
        if record not in self._stores:
            # Of an empty tensor as well, which torch makes of no empty buffer.
            data = bytearray(self._read(record)) or bytearray(1)
            self._stores[record] = torch.frombuffer(data, dtype=torch.uint8)
        dtype = DTYPES[as_size(meta["dtype"])]
        flat = self._stores[record]
        flat = flat[: flat.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
        sizes = [_extent(size) for size in as_list(meta["sizes"])]
        strides = [_extent(stride) for stride in as_list(meta["strides"])]
        return flat.as_strided(sizes, strides, _extent(meta["storage_offset"]))

    def _read(self, name: str) -> bytes:
        return self._members.read(self._root + name)

    def _check_members(self) -> None:
        for member in self._members.infolist():
            name = member.filename.removeprefix(self._root)
            if name == member.filename or (name not in _FIXED and not _is_tensor(name)):
                raise _refusal(self._path, f"it holds {name!r}")
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"its part {name} is compressed")
        if self._read(_SAMPLES):
            raise _refusal(self._path, "its sample inputs are a pickle")

    def _read_configuration(self, name: str) -> None:
        """List the tensors of a folder; refuse one that is a pickle, or lies elsewhere."""
        folder = name.rpartition("/")[0] + "/"
        configuration = as_table(json.loads(self._read(name)))
        for key, entry in as_table(configuration["config"]).items():
            tensor = as_table(entry)
            record = f"{folder}{tensor['path_name']}"
            if tensor["use_pickle"] is not False or not _is_tensor(record):
                raise _refusal(self._path, "one of its tensors is a pickle")
            self._records[key] = (record, as_table(tensor["tensor_meta"]))


def _is_tensor(name: str) -> bool:
    return any(
        name.startswith(folder) and fullmatch(pattern, name.removeprefix(folder))
        for folder, pattern in _TENSORS.items()
    )


def _extent(stored: Json) -> int:
    """Read a size of a tensor of the program's own, which is never free."""
    return as_size(as_table(stored)["as_int"])


def _refusal(path: Path, reason: str) -> CheckpointError:
    return CheckpointError(
        f"{path} is not a program that gantune wrote: {reason}, which could run code; it is refused, and "
        "nothing was run. Export the network again."
    )
