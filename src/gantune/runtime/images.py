"""Network values ↔ picture files, with numpy and Pillow."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from gantune.errors import CheckpointError, UnsupportedError
from gantune.machine.whole_files import write_whole
from gantune.records.interface import OutputSpec

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")


def to_pixels(image: NDArray[np.float32], output: OutputSpec) -> NDArray[np.uint8]:
    """Map one image [C, H, W] with values in [output.low, output.high] to bytes [H, W, 3]; clip outside."""
    if output.kind != "image" or image.shape[0] not in (1, 3):
        raise UnsupportedError(
            f"Only images of 1 or 3 channels can be drawn; this output is a {output.kind} of "
            f"{image.shape[0]} channels. Call the network from Python instead."
        )
    unit = (image.astype(np.float32) - output.low) / output.value_range
    pixels = np.rint(np.clip(unit, 0, 1) * 255).astype(np.uint8).transpose(1, 2, 0)
    return np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels


def write_png(path: Path, pixels: NDArray[np.uint8]) -> None:
    """Write bytes [H, W, 3] as a PNG file, under a temporary name first."""
    with write_whole(path) as partial:
        Image.fromarray(pixels).save(partial, format="PNG")


def read_image(path: Path, *, low: float, high: float) -> NDArray[np.float32]:
    """Read a picture as RGB [3, H, W] in [low, high]; raise `CheckpointError` for any other file."""
    try:
        with Image.open(path) as picture:
            pixels = np.asarray(picture.convert("RGB"), dtype=np.float32)
    except FileNotFoundError:
        raise CheckpointError(f"There is no picture at {path}. Check the path.") from None
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as error:
        raise CheckpointError(f"{path} is not a readable picture ({error}). Use {IMAGE_SUFFIXES}.") from None
    return (low + (high - low) * pixels / 255).transpose(2, 0, 1).astype(np.float32)


def list_images(folder: Path) -> list[Path]:
    """List the picture files of a folder, or the one file named, sorted; raise where there is none."""
    if folder.is_file():
        return [folder]
    found = sorted(path for path in folder.glob("*") if path.suffix.lower() in IMAGE_SUFFIXES)
    if not found:
        raise CheckpointError(
            f"{folder} holds no pictures. Name a folder with {', '.join(IMAGE_SUFFIXES)} files."
        )
    return found


def tile(images: list[NDArray[np.uint8]], *, columns: int, gap: int = 4) -> NDArray[np.uint8]:
    """Lay pictures [H, W, 3] of one size on a white sheet, row by row."""
    height, width = images[0].shape[:2]
    rows = -(-len(images) // columns)
    sheet = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap, 3), 255, dtype=np.uint8)
    for index, image in enumerate(images):
        top, left = (index // columns) * (height + gap), (index % columns) * (width + gap)
        sheet[top : top + height, left : left + width] = image
    return sheet
