"""Files that are there whole or not at all, whatever stops the process that writes them."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What a killed process leaves ends so; the name begins with a dot.
PARTIAL_SUFFIX = ".partial"


@contextmanager
def write_whole(path: Path, *, is_synced: bool = False) -> Iterator[Path]:
    """Give a name beside `path` to write to; the file takes its place when the block ends well.

    Otherwise nothing is left of it, and what was at `path` stays. `is_synced` waits until the bytes are on
    the disk, for what must outlive a loss of power. What the block or the disk raises passes through.
    """
    # Without the file's own name, which may be as long as a name can be.
    partial = path.with_name(f".{os.getpid()}.{secrets.token_hex(4)}{PARTIAL_SUFFIX}")
    try:
        yield partial
        if is_synced:
            with partial.open("rb") as stream:
                os.fsync(stream.fileno())
        partial.replace(path)
        if is_synced and hasattr(os, "O_DIRECTORY"):
            _sync_folder(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Wait until the file's name is on the disk as well."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file whole, in a folder that is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_whole(path) as partial:
        partial.write_text(text, encoding="utf-8")
