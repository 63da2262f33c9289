"""Read an ncnn model: the layer graph in the text file `.param`, the weights in `.bin`.

Layout: `.param` starts with 7767517 and the numbers of layers and blobs; a line a layer follows: type, name,
counts of inputs and outputs, their blobs, then `key=value` (`-233xx=n,v1,…` is an array). `.bin` holds the
weights in the order of the layers: a convolution has a u32 tag (fp16, padded to 4 bytes, or fp32), its
weights in torch's order, then an fp32 bias; PReLU slopes are untagged fp32.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gantune.errors import CheckpointError

PARAM_MAGIC = "7767517"
MAX_PARAM_BYTES = 16 * 2**20
_TAG_FP32 = 0
_TAG_FP16 = 0x01306B47
# What a weightless layer of an image network may be; any other kind could keep bytes in the file.
_WEIGHTLESS = ("Input", "Split", "Concat", "BinaryOp", "Eltwise", "Interp", "PixelShuffle")


@dataclass(frozen=True)
class NcnnLayer:
    """Hold one layer: `sources` are the positions of the layers that feed it, with Split layers left out.

    `params` maps a layer type's numbered parameters to their values, `tensors` holds weights in float32.
    """

    kind: str
    name: str
    sources: tuple[int, ...]
    params: dict[int, tuple[float, ...]]
    tensors: dict[str, Tensor]

    def number(self, key: int, default: float) -> float:
        """Return the single value of a numbered parameter, or ncnn's default where it is not written."""
        return self.params[key][0] if key in self.params else default


def find_pair(path: Path) -> tuple[Path, Path]:
    """Return the `.param` and `.bin` of a model, given either; raise `CheckpointError` where one lacks."""
    param, weights = path.with_suffix(".param"), path.with_suffix(".bin")
    for part in (param, weights):
        if not part.is_file():
            raise CheckpointError(
                f"{path} is half of an ncnn model: {part.name} is not beside it; put both in one folder."
            )
    return param, weights


def read_ncnn(path: Path) -> list[NcnnLayer]:
    """Read the layers of a model with their weights, in order, without its Split layers.

    Raise `CheckpointError` where the text is not an ncnn graph, or the weights do not fit to the last byte.
    """
    param, weights = find_pair(path)
    lines = _read_lines(param)
    reader = _WeightReader(weights)
    producers: dict[str, int] = {}
    layers: list[NcnnLayer] = []
    for line_number, line in enumerate(lines[2:], start=3):
        where = f"{param.name} line {line_number}"
        kind, name, inputs, outputs, params = _parse_layer(line, where)
        missing = [blob for blob in inputs if blob not in producers]
        if missing:
            raise CheckpointError(
                f"{where}: layer {name} reads {missing[0]!r}, which no layer before it makes."
            )
        sources = tuple(producers[blob] for blob in inputs)
        if kind == "Split" and len(sources) == 1:
            producers.update(dict.fromkeys(outputs, sources[0]))
            continue
        producers.update(dict.fromkeys(outputs, len(layers)))
        layers.append(NcnnLayer(kind, name, sources, params, reader.read_layer(kind, name, params)))
    reader.finish()
    return layers


def _read_lines(param: Path) -> list[str]:
    if param.stat().st_size > MAX_PARAM_BYTES:
        raise CheckpointError(f"{param.name} is larger than {MAX_PARAM_BYTES} bytes; an ncnn graph never is.")
    try:
        lines = [line for line in param.read_text(encoding="ascii").splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise CheckpointError(
            f"{param.name} is not text; an ncnn .param file starts with {PARAM_MAGIC}."
        ) from error
    if len(lines) < 3 or lines[0].strip() != PARAM_MAGIC:
        raise CheckpointError(f"{param.name} is not an ncnn graph: its first line must be {PARAM_MAGIC}.")
    counts = lines[1].split()
    if len(counts) != 2 or not counts[0].isdigit() or int(counts[0]) != len(lines) - 2:
        raise CheckpointError(f"{param.name} line 2 says {lines[1]!r}, but {len(lines) - 2} layers follow.")
    return lines


def _parse_layer(
    line: str, where: str
) -> tuple[str, str, list[str], list[str], dict[int, tuple[float, ...]]]:
    words = line.split()
    try:
        kind, name, num_inputs, num_outputs = words[0], words[1], int(words[2]), int(words[3])
        blobs = words[4 : 4 + num_inputs + num_outputs]
        if min(num_inputs, num_outputs) < 0 or len(blobs) != num_inputs + num_outputs:
            raise ValueError("too few blobs")
        params = dict(_parse_parameter(word) for word in words[4 + num_inputs + num_outputs :])
    except (ValueError, IndexError) as error:
        raise CheckpointError(f"{where} is not an ncnn layer: {line.strip()[:80]!r}.") from error
    return kind, name, blobs[:num_inputs], blobs[num_inputs:], params


def _parse_parameter(word: str) -> tuple[int, tuple[float, ...]]:
    key_text, _, value_text = word.partition("=")
    key = int(key_text)
    if key > -23300:
        return key, (float(value_text),)
    count, *values = value_text.split(",")
    if int(count) != len(values):
        raise ValueError(f"an array of {count} with {len(values)} values")
    return -23300 - key, tuple(float(value) for value in values)


class _WeightReader:
    """Take weights off a `.bin` file from front to back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = np.fromfile(path, dtype=np.uint8)
        self.offset = 0

    def read_layer(self, kind: str, name: str, params: dict[int, tuple[float, ...]]) -> dict[str, Tensor]:
        """Read what a layer of this kind keeps in the file: nothing, for most."""
        if kind == "PReLU":
            return {"weight": self._take(self._size(params, 0, name), "float32", name)}
        if kind in _WEIGHTLESS:
            return {}
        if kind != "Convolution":
            raise CheckpointError(
                f"{self.path.with_suffix('.param').name}: layer {name} is a {kind}; readable are "
                f"Convolution, PReLU, {', '.join(_WEIGHTLESS)}."
            )
        num_out, kernel_width = self._size(params, 0, name), self._size(params, 1, name)
        kernel_height = self._size(params, 11, name) if 11 in params else kernel_width
        size = self._size(params, 6, name)
        per_channel = num_out * kernel_height * kernel_width
        if size % per_channel:
            raise CheckpointError(
                f"{self.path.name}: convolution {name} claims {size} weights, not a multiple of its "
                f"{num_out} × {kernel_height} × {kernel_width}."
            )
        weight = self._take_tagged(size, name)
        tensors = {"weight": weight.reshape(num_out, size // per_channel, kernel_height, kernel_width)}
        if params.get(5, (0.0,))[0]:
            tensors["bias"] = self._take(num_out, "float32", name)
        return tensors

    def finish(self) -> None:
        """Raise `CheckpointError` unless the file ends exactly here."""
        left = self.data.size - self.offset
        if left:
            raise CheckpointError(
                f"{self.path.name} holds {left} bytes after the last weight, from byte {self.offset}; "
                "the two files do not belong together."
            )

    def _size(self, params: dict[int, tuple[float, ...]], key: int, name: str) -> int:
        value = params.get(key, (0.0,))[0]
        if not value.is_integer() or not 0 < value < 2**40:
            raise CheckpointError(
                f"{self.path.name}: layer {name} has {key}={value:g}; a positive size must stand there."
            )
        return int(value)

    def _take_tagged(self, count: int, name: str) -> Tensor:
        tag = int(self._take_bytes(4, name).view("<u4")[0])
        if tag == _TAG_FP32:
            return self._take(count, "float32", name)
        if tag == _TAG_FP16:
            values = self._take(count, "float16", name)
            self._take_bytes(-self.offset % 4, name)
            return values
        raise CheckpointError(
            f"{self.path.name}: {name} is stored in form 0x{tag:08X} at byte {self.offset - 4}; readable are "
            f"fp32 (0x{_TAG_FP32:08X}) and fp16 (0x{_TAG_FP16:08X}), not int8 or tables."
        )

    def _take(self, count: int, dtype: str, name: str) -> Tensor:
        little = np.dtype(dtype).newbyteorder("<")
        raw = self._take_bytes(count * little.itemsize, name)
        values: Tensor = torch.from_numpy(raw.view(little).astype(np.float32))
        if not bool(torch.isfinite(values).all()):
            raise CheckpointError(f"{self.path.name}: layer {name} has weights that are NaN or infinite.")
        return values

    def _take_bytes(self, count: int, name: str) -> "np.ndarray[tuple[int], np.dtype[np.uint8]]":
        end = self.offset + count
        if end > self.data.size:
            raise CheckpointError(
                f"{self.path.name} ends at byte {self.data.size}, inside layer {name}, which needs bytes "
                f"{self.offset} to {end}; the file is cut short or belongs to another .param."
            )
        taken = self.data[self.offset : end].copy()
        self.offset = end
        return taken
