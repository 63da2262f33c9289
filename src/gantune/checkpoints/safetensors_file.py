"""Write and read gantune's own checkpoints: one safetensors file, with families and configurations in its
metadata.

The metadata key `gantune` holds JSON: `format_version`, and per role `family` and `config`. The tensors of a
role stand under its name and a dot: `generator.synthesis.b4.const`.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.checkpoints.content import ROLES, CheckpointContent, Format, NetworkContent, Role
from gantune.checkpoints.plain_values import plain_dictionary
from gantune.errors import CheckpointError, StorageError
from gantune.machine.whole_files import write_whole

FORMAT_VERSION: Final = 1
_KEY: Final = "gantune"
_MAX_HEADER_BYTES: Final = 32 * 2**20
_METADATA_NAME: Final = "__metadata__"


def write_safetensors(
    content: CheckpointContent,
    out: Path,
    *,
    overwrite: bool = False,
    check: Callable[[Path], None] = lambda _: None,
) -> None:
    """Write all networks of `content` to `out`, whole or not at all; `check` sees the file before it has its
    name, and stops it by raising.

    Raises `StorageError` when `out` is there and `overwrite` is not given, or when it cannot be written.
    """
    refuse_place(out, overwrite=overwrite)
    described = {
        "format_version": FORMAT_VERSION,
        "source_format": content.format,
        "networks": {
            role: {"family": network.family, "config": network.config}
            for role, network in content.networks.items()
        },
    }
    tensors = {
        f"{role}.{name}": tensor.detach().clone().contiguous()
        for role, network in content.networks.items()
        for name, tensor in network.state.items()
    }
    data = save(tensors, metadata={_KEY: json.dumps(described, allow_nan=False)})
    _write_whole(data, out, check)


def refuse_place(out: Path, *, overwrite: bool) -> None:
    """Raise `StorageError` where `out` is there and may not be replaced, or is no place for a file."""
    try:
        is_there = out.exists()
    except OSError as error:
        raise StorageError(f"{out} cannot be written ({error.strerror}); choose another name.") from error
    if is_there and not out.is_file():
        raise StorageError(f"{out} is not a file, so it is not replaced; choose another name.")
    if is_there and not overwrite:
        raise StorageError(f"{out} is already there; choose another name or give --overwrite.")
    try:
        str(out).encode()
    except UnicodeEncodeError:
        raise StorageError(
            f"{out} is not UTF-8, which safetensors files need to be read; choose another name."
        ) from None


def _write_whole(data: bytes, out: Path, check: Callable[[Path], None]) -> None:
    try:
        with write_whole(out, is_synced=True) as partial:
            partial.write_bytes(data)
            check(partial)
    except OSError as error:
        raise StorageError(
            f"{out} could not be written ({error.strerror}); nothing is left of it."
        ) from error


def _read_header(file: CheckpointFile) -> Mapping[str, object] | None:
    """Return the JSON header of a safetensors file, or None where there is none."""
    length = int.from_bytes(file.head[:8], "little")
    if length > min(file.size_bytes - 8, _MAX_HEADER_BYTES):
        raise CheckpointError(
            f"{file.path} claims a safetensors header of {length} bytes in a file of {file.size_bytes}: "
            "it is truncated, damaged or hostile."
        )
    with file.path.open("rb") as stream:
        stream.seek(8)
        text = stream.read(length)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return header if isinstance(header, dict) else None


def _own_description(file: CheckpointFile) -> str | None:
    header = _read_header(file)
    metadata = header.get(_METADATA_NAME) if header is not None else None
    text = metadata.get(_KEY) if isinstance(metadata, dict) else None
    return text if isinstance(text, str) else None


def _recognizes(file: CheckpointFile) -> bool:
    return file.container == "safetensors" and _own_description(file) is not None


def _read(file: CheckpointFile) -> CheckpointContent:
    networks = _described_networks(file)
    states: dict[Role, dict[str, Tensor]] = {role: {} for role in networks}
    try:
        with safe_open(file.path, framework="pt") as stored:
            for key in stored.keys():  # noqa: SIM118 (safe_open is not a mapping)
                role, _, name = key.partition(".")
                if role not in states:
                    raise CheckpointError(
                        f"{file.path} holds the tensor {key!r} of a network it does not describe."
                    )
                states[role][name] = stored.get_tensor(key)
    except (SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{file.path} is a damaged or truncated safetensors file ({error}).") from error
    complete = {
        role: NetworkContent(network.family, network.config, states[role])
        for role, network in networks.items()
    }
    return CheckpointContent(FORMAT.name, complete)


def _described_networks(file: CheckpointFile) -> dict[Role, NetworkContent]:
    text = _own_description(file)
    assert text is not None, "_recognizes looked first"
    try:
        described = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{file.path} describes its networks in damaged JSON ({error}).") from error
    version = described.get("format_version") if isinstance(described, dict) else None
    if version != FORMAT_VERSION:
        raise CheckpointError(
            f"{file.path} has format_version {version!r}; this gantune reads {FORMAT_VERSION}. Convert it "
            "again."
        )
    entries = described.get("networks")
    networks: dict[Role, NetworkContent] = {}
    for role in ROLES:
        entry = entries.get(role) if isinstance(entries, dict) else None
        if entry is None:
            continue
        family, config = (
            (entry.get("family"), entry.get("config")) if isinstance(entry, dict) else (None, None)
        )
        if not isinstance(family, str) or not isinstance(config, dict):
            raise CheckpointError(
                f"{file.path} describes its {role} without family and config; convert it again."
            )
        networks[role] = NetworkContent(family, plain_dictionary(config), {})
    if "generator" not in networks:
        raise CheckpointError(f"{file.path} describes no generator; convert it again.")
    return networks


FORMAT = Format(
    name="gantune-safetensors",
    description="safetensors files written by `gantune convert`",
    recognizes=_recognizes,
    read=_read,
)
