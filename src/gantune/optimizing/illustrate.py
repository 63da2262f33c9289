"""Pictures of a run: before and after, for the report page and as one sheet."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gantune.networks.contract import Network
from gantune.optimizing.assemble import Evidence
from gantune.optimizing.samples import TEST_SEED_OFFSET
from gantune.records.interface import OutputSpec
from gantune.reporting import Sample
from gantune.runtime.images import list_images, tile, to_pixels, write_png

MAX_SAMPLES = 4
_MAX_SHEET_SIDE = 512


def make_samples(evidence: Evidence) -> list[Sample]:
    """Pair the first test samples, original against best; none where nothing was kept or no image is made."""
    output = _output(evidence)
    if evidence.images is None or not _is_drawable(output, evidence.expected):
        return []
    pairs = zip(evidence.expected[:MAX_SAMPLES], evidence.images[:MAX_SAMPLES], strict=True)
    return [
        Sample(title=title, before=_unit(before, output), after=_unit(after, output))
        for title, (before, after) in zip(_titles(evidence), pairs, strict=False)
    ]


def draw_samples_sheet(evidence: Evidence, path: Path) -> None:
    """Write a sheet: the original's pictures in the first row, the best candidate's below them."""
    output = _output(evidence)
    if not _is_drawable(output, evidence.expected):
        return
    rows = [evidence.expected] if evidence.images is None else [evidence.expected, evidence.images]
    step = max(1, -(-evidence.expected.shape[2] // _MAX_SHEET_SIDE))
    pictures = [to_pixels(image, output)[::step, ::step] for row in rows for image in row[:MAX_SAMPLES]]
    write_png(path, tile(pictures, columns=min(MAX_SAMPLES, len(evidence.expected))))


def _titles(evidence: Evidence) -> list[str]:
    """Name each test sample: its picture's name, or the seed it was drawn from."""
    samples = evidence.plan.samples
    if samples is not None:
        return [path.stem for path in list_images(Path(samples))]
    seed = evidence.plan.seed + TEST_SEED_OFFSET
    return [f"Seed {seed}, sample {index + 1}" for index in range(len(evidence.expected))]


def _output(evidence: Evidence) -> OutputSpec:
    network = evidence.checkpoint.generator
    assert isinstance(network, Network)
    return network.output


def _is_drawable(output: OutputSpec, images: NDArray[np.float32]) -> bool:
    return output.kind == "image" and images.shape[1] in (1, 3)


def _unit(image: NDArray[np.float32], output: OutputSpec) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = (image.transpose(1, 2, 0) - output.low) / output.value_range
    return np.clip(unit, 0, 1).astype(np.float32)
