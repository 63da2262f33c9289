"""Draw inputs for a network, one seed per sample, with numpy alone."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gantune.records.interface import InputSpec

Array = NDArray[np.float32] | NDArray[np.int64]


def draw_inputs(inputs: Sequence[InputSpec], n: int, seed: int, *, image_size: int = 64) -> dict[str, Array]:
    """Draw `n` samples of every input; sample i depends on (seed, i, input) alone, never on `n`.

    Latents, w, vectors and noise are standard normal; classes are uniform over the labels (one-hot where the
    input is float32); images are smooth random fields in [low, high] of `image_size` where H and W are free;
    a scalar takes its default.
    """
    return {spec.name: _draw(spec, n, (seed, position), image_size) for position, spec in enumerate(inputs)}


def _draw(spec: InputSpec, n: int, seed: tuple[int, int], image_size: int) -> Array:
    if spec.kind == "scalar":
        return np.asarray(1.0 if spec.default is None else spec.default, dtype=np.float32)
    free = [image_size if isinstance(size, str) else size for size in spec.shape[1:]]
    samples = [_draw_one(spec, tuple(free), np.random.default_rng([*seed, index])) for index in range(n)]
    values = np.stack(samples) if samples else np.zeros((0, *free))
    return np.asarray(values, np.int64) if spec.dtype == "int64" else np.asarray(values, np.float32)


def _draw_one(spec: InputSpec, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    if spec.kind == "class":
        if spec.dtype == "int64":
            return np.asarray(generator.integers(0, int(spec.high or 0) + 1), dtype=np.int64)
        label = np.zeros(shape, dtype=np.float32)
        label[generator.integers(0, shape[0])] = 1
        return label
    if spec.kind == "image":
        return _draw_image(spec, shape, generator)
    return generator.standard_normal(shape, dtype=np.float32)


def _draw_image(spec: InputSpec, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """Sum a few random plane waves a channel: smooth as a photograph, and every size works."""
    low = -1.0 if spec.low is None else spec.low
    high = 1.0 if spec.high is None else spec.high
    channels, height, width = shape
    rows, columns = np.meshgrid(np.linspace(0, 1, height), np.linspace(0, 1, width), indexing="ij")
    field = np.zeros(shape)
    for octave in range(1, 5):
        for channel in range(channels):
            u, v, phase = generator.uniform(-1, 1, 3) * (6.0 * octave, 6.0 * octave, np.pi)
            field[channel] += np.sin(u * rows + v * columns + phase) / octave
    unit = 0.5 + 0.5 * field / np.abs(field).max()
    return np.asarray(low + (high - low) * unit, dtype=np.float32)
