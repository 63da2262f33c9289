"""Where images to be judged come from: pictures in a folder or ZIP, or a network run on numbered samples."""

import hashlib
import io
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from gantune.errors import CheckpointError, UnsupportedError, UsageError
from gantune.records.interface import InputSpec, OutputSpec
from gantune.runtime.generation import RunnableNetwork
from gantune.runtime.images import IMAGE_SUFFIXES
from gantune.runtime.sampling import draw_inputs

Images = NDArray[np.float32]

_BYTES = OutputSpec(low=0.0, high=255.0)
# Samples are drawn in blocks of this size whatever the batch is, so that sample i is always the same.
_BLOCK = 64


class ImageSource(Protocol):
    """Give the images numbered start to stop − 1, in the range of `output`; `num_images` None is no end."""

    @property
    def output(self) -> OutputSpec:
        """Describe the images."""
        ...

    @property
    def num_images(self) -> int | None:
        """Say how many there are."""
        ...

    def read(self, start: int, stop: int) -> Images:
        """Return [stop − start, C, H, W]."""
        ...


class PictureFiles:
    """The pictures of a folder (with its folders) or a ZIP, sorted by name; RGB bytes as floats in [0, 255].

    Raises `CheckpointError` for a path without pictures, a damaged picture, or pictures of several sizes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._archive = None if path.is_dir() else zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise CheckpointError(
                f"{path} is neither a folder nor a readable ZIP of pictures ({error})."
            ) from error
        self.names = self._list_names()
        if not self.names:
            raise CheckpointError(f"{path} holds no pictures ({', '.join(IMAGE_SUFFIXES)}).")
        self._shape = self.read_bytes(0).shape

    @property
    def output(self) -> OutputSpec:
        """Describe the images."""
        return _BYTES

    @property
    def num_images(self) -> int:
        """Count the pictures."""
        return len(self.names)

    def read(self, start: int, stop: int) -> Images:
        """Return pictures [stop − start, 3, H, W]."""
        return np.stack([self.read_bytes(index) for index in range(start, stop)]).astype(np.float32)

    def read_bytes(self, index: int) -> NDArray[np.uint8]:
        """Return picture `index` as bytes [3, H, W]."""
        name = self.names[index]
        try:
            with Image.open(io.BytesIO(self._raw(name))) as picture:
                pixels = np.asarray(picture.convert("RGB"), dtype=np.uint8).transpose(2, 0, 1)
        except (UnidentifiedImageError, OSError, ValueError, zipfile.BadZipFile) as error:
            raise CheckpointError(f"{name} in {self.path} is not a readable picture ({error}).") from error
        if index and pixels.shape != self._shape:
            raise CheckpointError(
                f"{name} in {self.path} is {pixels.shape[1]}×{pixels.shape[2]}; the first picture is "
                f"{self._shape[1]}×{self._shape[2]}. Bring all to one size."
            )
        return pixels

    def hash_contents(self) -> str:
        """Give the SHA-256 over all names and file contents: the identity of this data."""
        digest = hashlib.sha256()
        for name in self.names:
            digest.update(hashlib.sha256(name.encode()).digest())
            digest.update(hashlib.sha256(self._raw(name)).digest())
        return digest.hexdigest()

    def _list_names(self) -> list[str]:
        if self._archive is not None:
            names = self._archive.namelist()
        else:
            files = (item for item in self.path.rglob("*") if item.is_file())
            names = [item.relative_to(self.path).as_posix() for item in files]
        return sorted(name for name in names if Path(name).suffix.lower() in IMAGE_SUFFIXES)

    def _raw(self, name: str) -> bytes:
        return (self.path / name).read_bytes() if self._archive is None else self._archive.read(name)


class GeneratedImages:
    """Run a network on numbered samples: number i is drawn from (`seed`, i) alone.

    Two sources with one seed give the same samples, in any batches. `truncation_psi` goes to the scalar
    input of an artifact that has one.
    """

    def __init__(
        self,
        network: RunnableNetwork,
        *,
        seed: int = 0,
        image_size: int = 64,
        truncation_psi: float | None = None,
    ) -> None:
        if network.output.kind != "image":
            raise UnsupportedError(
                f"Only images can be evaluated; this network gives a {network.output.kind}."
            )
        self._network = network
        self._seed = seed
        self._image_size = image_size
        self._psi = truncation_psi
        self._scalar = next((spec.name for spec in network.inputs if spec.kind == "scalar"), None)
        if truncation_psi is not None and self._scalar is None:
            raise UsageError("A truncation psi was given, and this network has no such input. Leave it out.")

    @property
    def output(self) -> OutputSpec:
        """Describe the images."""
        return self._network.output

    @property
    def num_images(self) -> None:
        """There is no end."""
        return

    def read(self, start: int, stop: int) -> Images:
        """Return images [stop − start, C, H, W]."""
        inputs = _draw_range(self._network.inputs, start, stop, seed=self._seed, image_size=self._image_size)
        if self._psi is not None and self._scalar is not None:
            inputs[self._scalar] = np.asarray(self._psi, dtype=np.float32)
        return self._network(**inputs)


def _draw_range(
    specs: Sequence[InputSpec], start: int, stop: int, *, seed: int, image_size: int
) -> dict[str, NDArray[np.float32] | NDArray[np.int64]]:
    first, last = start // _BLOCK, (stop - 1) // _BLOCK
    blocks = [
        draw_inputs(specs, _BLOCK, seed * 1_000_003 + block, image_size=image_size)
        for block in range(first, last + 1)
    ]
    within = slice(start - first * _BLOCK, stop - first * _BLOCK)
    return {
        spec.name: blocks[0][spec.name]
        if spec.kind == "scalar"
        else np.concatenate([block[spec.name] for block in blocks])[within]
        for spec in specs
    }


def read_batches(source: ImageSource, start: int, stop: int, *, batch: int) -> Iterator[Images]:
    """Walk images start to stop − 1 in batches; raise `UsageError` where the source has fewer."""
    if source.num_images is not None and stop > source.num_images:
        raise UsageError(
            f"Images up to number {stop:,} were asked for, and there are {source.num_images:,}. "
            "Ask for fewer."
        )
    for first in range(start, stop, batch):
        yield source.read(first, min(first + batch, stop))
