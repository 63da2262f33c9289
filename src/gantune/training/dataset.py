"""Training images: a folder or a ZIP of pictures, with labels in `dataset.json`."""

import hashlib
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError
from torch import Tensor
from torch.utils.data import Dataset

from gantune.errors import CheckpointError, UsageError
from gantune.runtime.images import IMAGE_SUFFIXES

LABEL_FILE = "dataset.json"
_MOST_CLASSES = 100_000
# What zipfile, zlib and Pillow raise for damaged, encrypted or oddly packed content.
_DAMAGE = (
    UnidentifiedImageError,
    Image.DecompressionBombError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    SyntaxError,
    ValueError,
    RuntimeError,
)


class ImageDataset(Dataset[tuple[Tensor, Tensor]]):
    """Square pictures of one size, read when they are asked for, and their labels.

    Item `[i, j, …]` is a batch: bytes [N, C, R, R] and float32 labels [N, label_dim]. With `mirror` the
    indices from `num_stored` on are the same pictures flipped. Every process opens the ZIP for itself.
    """

    def __init__(self, path: Path, *, use_labels: bool = False, mirror: bool = False) -> None:
        self.path = path
        self.mirror = mirror
        self._archive: zipfile.ZipFile | None = None
        self._owner = 0
        self._is_folder = path.is_dir()
        names = self._list_names()
        self.names = sorted(name for name in names if Path(name).suffix.lower() in IMAGE_SUFFIXES)
        if not self.names:
            raise CheckpointError(f"{path} holds no pictures ({', '.join(IMAGE_SUFFIXES)}).")
        self.num_stored = len(self.names)
        first = self._read_pixels(0)
        self.channels, self.resolution = first.shape[0], first.shape[1]
        if first.shape[1] != first.shape[2]:
            raise UsageError(
                f"{self.names[0]} in {path} is {first.shape[2]}×{first.shape[1]}; networks take square "
                "pictures. Crop or pad them."
            )
        self.labels = self._read_labels(names) if use_labels else torch.zeros(self.num_stored, 0)

    def __len__(self) -> int:
        return self.num_stored * (2 if self.mirror else 1)

    @property
    def label_dim(self) -> int:
        """Give the width of a label; 0 without labels."""
        return self.labels.shape[1]

    def __getitem__(self, indices: list[int]) -> tuple[Tensor, Tensor]:
        """Return bytes [N, C, R, R] and labels [N, label_dim]; raise `CheckpointError` for a bad picture."""
        stored = [index % self.num_stored for index in indices]
        pictures = []
        for index, position in zip(indices, stored, strict=True):
            pixels = self._read_pixels(position)
            if pixels.shape != (self.channels, self.resolution, self.resolution):
                raise CheckpointError(
                    f"{self.names[position]} in {self.path} has the shape {pixels.shape}; the first picture "
                    f"has {(self.channels, self.resolution, self.resolution)}. Bring all to one size and "
                    "color."
                )
            pictures.append(pixels[:, :, ::-1] if index >= self.num_stored else pixels)
        return torch.from_numpy(np.stack(pictures)), self.labels[stored]

    def fingerprint(self) -> str:
        """Give a SHA-256 that other data would not have: over names, sizes and, in a ZIP, checksums."""
        digest = hashlib.sha256()
        listed = [*self.names, LABEL_FILE] if self.label_dim else self.names
        for name in listed:
            if self._is_folder:
                facts: tuple[object, ...] = (name, (self.path / name).stat().st_size)
            else:
                entry = self._open().getinfo(name)
                facts = (name, entry.file_size, entry.CRC)
            digest.update(repr(facts).encode())
        return digest.hexdigest()

    def _list_names(self) -> list[str]:
        if self._is_folder:
            files = (item for item in self.path.rglob("*") if item.is_file())
            return [item.relative_to(self.path).as_posix() for item in files]
        try:
            return self._open().namelist()
        except _DAMAGE as error:
            raise CheckpointError(f"{self.path} is neither a folder nor a readable ZIP ({error}).") from error

    def _open(self) -> zipfile.ZipFile:
        # A file position shared between forked processes would mix up their reads.
        if self._archive is None or self._owner != os.getpid():
            self._archive = zipfile.ZipFile(self.path)
            self._owner = os.getpid()
        return self._archive

    def _read_bytes(self, name: str) -> bytes:
        return (self.path / name).read_bytes() if self._is_folder else self._open().read(name)

    def _read_pixels(self, position: int) -> NDArray[np.uint8]:
        name = self.names[position]
        try:
            with Image.open(io.BytesIO(self._read_bytes(name))) as picture:
                drawn = picture if picture.mode == "L" else picture.convert("RGB")
                pixels = np.array(drawn, dtype=np.uint8)
        except _DAMAGE as error:
            raise CheckpointError(f"{name} in {self.path} is not a readable picture ({error}).") from error
        return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)

    def _read_labels(self, names: list[str]) -> Tensor:
        if LABEL_FILE not in names:
            raise UsageError(f"{self.path} has no {LABEL_FILE}, which labels need; train without --cond.")
        try:
            listed = json.loads(self._read_bytes(LABEL_FILE))["labels"]
            by_name: Mapping[str, int | list[float]] = dict(listed)
            values = np.array([by_name[name] for name in self.names])
        except (KeyError, TypeError, *_DAMAGE) as error:
            raise CheckpointError(
                f"{LABEL_FILE} in {self.path} does not label every picture ({type(error).__name__}: {error})."
            ) from error
        kind, ndim = values.dtype.kind, values.ndim
        if kind == "i" and ndim == 1 and 0 <= values.min() <= values.max() < _MOST_CLASSES:
            return torch.nn.functional.one_hot(torch.from_numpy(values)).float()
        if kind in "if" and ndim == 2 and bool(np.isfinite(values).all()):
            return torch.from_numpy(values.astype(np.float32))
        raise CheckpointError(
            f"{LABEL_FILE} in {self.path} must give every picture a class number from 0 to "
            f"{_MOST_CLASSES - 1}, or a list of finite numbers."
        )

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_archive": None, "_owner": 0}
