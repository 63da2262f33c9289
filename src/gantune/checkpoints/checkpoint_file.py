"""A file on disk that several formats look at, and that is read once."""

from functools import cached_property
from pathlib import Path
from typing import Literal

from gantune.checkpoints.legacy_torch import LEGACY_MAGIC_BYTES, PICKLE_BUILDERS
from gantune.checkpoints.safe_pickle import read_pickle_file
from gantune.checkpoints.torch_file import ZIP_SIGNATURE, read_torch_file
from gantune.errors import CheckpointError

Container = Literal["empty", "torch", "pickle", "safetensors", "text", "other"]

HEAD_BYTES = 4096
_PICKLE_PROTOCOLS = (2, 3, 4, 5)


class CheckpointFile:
    """Show the first bytes, the kind of container and, decoded safely and once, the object inside.

    Raises `CheckpointError` when `path` is missing, is not a regular file, or cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            if not path.exists():
                raise CheckpointError(f"There is no file {path}; check the path.")
            if not path.is_file():
                raise CheckpointError(f"{path} is not a file; give the path of a checkpoint file.")
            self.size_bytes = path.stat().st_size
            with path.open("rb") as stream:
                self.head = stream.read(HEAD_BYTES)
        except OSError as error:
            raise CheckpointError(f"{path} cannot be read ({error.strerror}).") from error

    @cached_property
    def container(self) -> Container:
        """Tell the kind of container from the first bytes."""
        if not self.head:
            return "empty"
        if self.head.startswith(ZIP_SIGNATURE) or LEGACY_MAGIC_BYTES in self.head[:16]:
            return "torch"
        if self.head[0] == 0x80 and len(self.head) > 1 and self.head[1] in _PICKLE_PROTOCOLS:
            return "pickle"
        if self._has_safetensors_header():
            return "safetensors"
        return "text" if self._is_text() else "other"

    @cached_property
    def payload(self) -> object:
        """Decode a `torch` or `pickle` container into plain values, arrays, tensors and inert placeholders.

        None for every other container. Raises `CheckpointError` for a damaged or hostile file.
        """
        if self.container == "torch":
            return read_torch_file(self.path)
        if self.container == "pickle":
            return read_pickle_file(self.path, PICKLE_BUILDERS)
        return None

    def _has_safetensors_header(self) -> bool:
        if len(self.head) < 9 or self.head[8:9] != b"{":
            return False
        return int.from_bytes(self.head[:8], "little") < 2**40

    def _is_text(self) -> bool:
        control = set(range(32)) - {9, 10, 12, 13}
        return not any(byte in control for byte in self.head)
