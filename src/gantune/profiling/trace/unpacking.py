"""Bytes of a file that may be gzip, and may be torn or damaged: everything up to the damage comes out."""

import zlib
from collections.abc import Iterator
from pathlib import Path

_GZIP_MAGIC = b"\x1f\x8b"
# What one damaged block would have held is lost, so blocks are small.
_PACKED_BYTES = 1 << 14
_PLAIN_BYTES = 1 << 20
_AS_GZIP = 16 + zlib.MAX_WBITS


class UnpackedFile:
    """Walk the blocks of a file; `damage` says afterwards what is wrong with it, "" where nothing is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.damage = ""

    def blocks(self) -> Iterator[bytes]:
        """Yield the unpacked bytes in order, none of them empty."""
        with self._path.open("rb") as file:
            is_packed = file.read(2) == _GZIP_MAGIC
            file.seek(0)
            if not is_packed:
                while plain := file.read(_PLAIN_BYTES):
                    yield plain
                return
            unpacker = zlib.decompressobj(_AS_GZIP)
            while packed := file.read(_PACKED_BYTES):
                while packed:
                    # A file may hold several members, one after the other.
                    if unpacker.eof:
                        unpacker = zlib.decompressobj(_AS_GZIP)
                    try:
                        unpacked = unpacker.decompress(packed)
                    except zlib.error as error:
                        self.damage = f"the compressed file is damaged ({error}); what comes before is used"
                        return
                    packed = unpacker.unused_data
                    if unpacked:
                        yield unpacked
            if not unpacker.eof:
                self.damage = "the compressed file ends in the middle; what comes before is used"
