"""Fetch the pictures that the trained samples are made from, as ZIP files that `gantune train` reads.

Fashion-MNIST comes from the Debian package `dataset-fashion-mnist`, the emoji from the npm package
`emoji-datasource-google`; both are unpacked, and nothing in them is ever run. The ZIP files hold PNG
pictures, stored without compression, and `dataset.json` with labels. Everything lands in
`.cache/training/`, or in the folder given as the only argument.
"""

import gzip
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

DEFAULT_FOLDER = Path(__file__).resolve().parent.parent / ".cache" / "training"
FASHION_PACKAGE = "dataset-fashion-mnist"
EMOJI_PACKAGE = "emoji-datasource-google@16.0.0"
EMOJI_FOLDER = "package/img/google/64/"

Picture = tuple[Image.Image, int | None]


def fetch_fashion(folder: Path) -> list[Path]:
    """Write the 60,000 training pictures and the 10,000 test pictures, each padded from 28² to 32²."""
    outs = {"train": folder / "fashion-mnist-32.zip", "t10k": folder / "fashion-mnist-32-test.zip"}
    if all(path.is_file() for path in outs.values()):
        return list(outs.values())
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        subprocess.run(["apt-get", "download", FASHION_PACKAGE], cwd=scratch, check=True, capture_output=True)
        (package,) = Path(scratch).glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", str(package), scratch], check=True)
        source = Path(scratch) / "usr" / "share" / "datasets" / "fashion-mnist"
        for part, out in outs.items():
            write_zip(_read_fashion(source, part), out)
    return list(outs.values())


def _read_fashion(source: Path, part: str) -> Iterator[Picture]:
    images = gzip.decompress((source / f"{part}-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((source / f"{part}-labels-idx1-ubyte.gz").read_bytes())
    # The format: big-endian magic number and sizes (16 bytes of images, 8 of labels), then plain bytes.
    pixels = np.frombuffer(images, dtype=np.uint8, offset=16).reshape(-1, 28, 28)
    for image, label in zip(pixels, labels[8:], strict=True):
        yield Image.fromarray(np.pad(image, 2)), label


def fetch_emoji(folder: Path) -> list[Path]:
    """Write the emoji on white at 64² and at 32²; they have no labels."""
    outs = {64: folder / "emoji-64.zip", 32: folder / "emoji-32.zip"}
    if all(path.is_file() for path in outs.values()):
        return list(outs.values())
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        subprocess.run(
            ["npm", "pack", "--silent", EMOJI_PACKAGE], cwd=scratch, check=True, capture_output=True
        )
        (package,) = Path(scratch).glob("*.tgz")
        pictures = list(_read_emoji(package))
    for size, out in outs.items():
        write_zip(((_resize(picture, size), None) for picture in pictures), out)
    return list(outs.values())


def _read_emoji(package: Path) -> Iterator[Image.Image]:
    with tarfile.open(package) as archive:
        members = [item for item in archive if item.isfile() and item.name.startswith(EMOJI_FOLDER)]
        for member in sorted(members, key=lambda item: item.name):
            stream = archive.extractfile(member)
            assert stream is not None, "a file has content"
            with Image.open(io.BytesIO(stream.read())) as picture:
                drawn = picture.convert("RGBA")
            white = Image.new("RGBA", drawn.size, "white")
            yield Image.alpha_composite(white, drawn).convert("RGB")


def _resize(picture: Image.Image, size: int) -> Image.Image:
    return picture if picture.size == (size, size) else picture.resize((size, size), Image.Resampling.LANCZOS)


def write_zip(pictures: Iterable[Picture], out: Path) -> None:
    """Write stored PNG files in folders of 1,000 and `dataset.json` with the labels, as the field does."""
    partial = out.with_name(f"{out.name}.partial")
    labels: list[tuple[str, int]] = []
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
        for index, (picture, label) in enumerate(pictures):
            name = f"{index // 1000:05d}/img{index:08d}.png"
            stream = io.BytesIO()
            picture.save(stream, format="PNG", compress_level=1)
            archive.writestr(name, stream.getvalue())
            if label is not None:
                labels.append((name, int(label)))
        archive.writestr("dataset.json", json.dumps({"labels": labels or None}))
    partial.replace(out)


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for path in [*fetch_fashion(folder), *fetch_emoji(folder)]:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
