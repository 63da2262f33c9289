"""Open a program saved by torch.export so that nothing the file says can run as code.

`torch.export.load` unpickles what an archive asks it to, evaluates a graph's expressions as Python, imports
what its trees of inputs name, and lets it call operators that write files. Therefore the archive is checked
first: it holds the members that gantune's export writes, none of them a pickle, and a graph that
`program_document` accepts.
"""

import json
import zipfile
from pathlib import Path
from re import fullmatch
from typing import cast

import torch
from torch.export import ExportedProgram
from torch.export.pt2_archive import PT2ArchiveReader

from gantune.errors import CheckpointError, first_line
from gantune.runtime.engines.program_document import Json, find_fault

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
# What torch raises for an archive or a graph that is damaged.
_DAMAGE = (
    RuntimeError,
    ValueError,
    LookupError,
    OSError,
    AssertionError,
    TypeError,
    AttributeError,
    SyntaxError,
    zipfile.BadZipFile,
)


def open_program(path: Path) -> ExportedProgram:
    """Load the program at `path`; raise `CheckpointError` for a file that gantune's export did not write."""
    try:
        _check_archive(path)
        return torch.export.load(path)
    except _DAMAGE as error:
        raise CheckpointError(f"torch refuses {path}: {first_line(error)}") from error


def save_program(program: ExportedProgram, path: Path) -> None:
    """Write a program without its sample inputs, which torch would pickle; changes the program so."""
    program.example_inputs = None
    torch.export.save(program, path)


def _check_archive(path: Path) -> None:
    # torch turns to an older format, all pickles, where it finds one and cannot read the newer beside it.
    with zipfile.ZipFile(path) as members:
        if "version" in members.namelist():
            raise _refusal(path, "it holds a program of an older format")
    with PT2ArchiveReader(str(path)) as archive:
        for name in archive.get_file_names():
            if name not in _FIXED and not _is_tensor(name):
                raise _refusal(path, f"it holds {name!r}")
        if archive.read_bytes(_SAMPLES):
            raise _refusal(path, "its sample inputs are a pickle")
        for name in _CONFIGURATIONS:
            _check_configuration(path, name, json.loads(archive.read_string(name)))
        fault = find_fault(json.loads(archive.read_string(_DOCUMENT)))
        if fault is not None:
            raise _refusal(path, fault)


def _is_tensor(name: str) -> bool:
    return any(
        name.startswith(folder) and fullmatch(pattern, name.removeprefix(folder))
        for folder, pattern in _TENSORS.items()
    )


def _check_configuration(path: Path, name: str, configuration: Json) -> None:
    """Refuse a list of tensors of which one is a pickle, or lies elsewhere than among the tensors."""
    assert isinstance(configuration, dict)
    folder = name.rpartition("/")[0] + "/"
    for tensor in cast(dict[str, dict[str, Json]], configuration["config"]).values():
        if tensor["use_pickle"] is not False or not _is_tensor(f"{folder}{tensor['path_name']}"):
            raise _refusal(path, "one of its tensors is a pickle")


def _refusal(path: Path, reason: str) -> CheckpointError:
    return CheckpointError(
        f"{path} is not a program that gantune wrote: {reason}, which could run code; it is refused, and "
        "nothing was run. Export the network again."
    )
