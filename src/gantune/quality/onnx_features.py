"""Features from any ONNX file that takes one image input and gives a vector (or maps to be averaged)."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gantune.errors import CheckpointError, UsageError
from gantune.quality.features import Extracted, FeatureNetwork
from gantune.quality.resize import ResizeMode
from gantune.quality.weights_file import check_hash


def open_onnx_features(
    path: Path,
    *,
    sha256: str | None = None,
    low: float = 0.0,
    high: float = 255.0,
    resize: ResizeMode = "clean",
) -> FeatureNetwork:
    """Open a file whose input [N, 3, H, W] has values in [low, high]; its first output is the features.

    A fixed H and W resize the images to it. Raises `CheckpointError` for a file that is no such network.
    """
    if not high > low:
        raise UsageError(f"the feature network's range is [{low:g}, {high:g}]; high must exceed low")
    found = check_hash(path, sha256)
    module = _OnnxModule(path, low, high)
    name = path.name if (low, high) == (0.0, 255.0) else f"{path.name} in [{low:g}, {high:g}]"
    return FeatureNetwork(name=name, weights_sha256=found, module=module, side=module.side, resize=resize)


def _refusals() -> tuple[type[Exception], ...]:
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    names = ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NotImplemented")
    return tuple(getattr(state, name) for name in names)


class _OnnxModule:
    def __init__(self, path: Path, low: float, high: float) -> None:
        import onnxruntime

        self._low, self._high = low, high
        try:
            self._session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        except _refusals() as error:
            raise CheckpointError(f"{path} is not an ONNX network that runs here ({error}).") from error
        inputs = self._session.get_inputs()
        if len(inputs) != 1 or len(inputs[0].shape) != 4 or inputs[0].shape[1] != 3:
            shapes = [entry.shape for entry in inputs]
            raise CheckpointError(f"{path} takes {shapes}; a feature network takes one input [N, 3, H, W].")
        self._input = inputs[0].name
        self._batch = inputs[0].shape[0]
        height, width = inputs[0].shape[2:]
        if isinstance(height, int) and height != width:
            raise CheckpointError(
                f"{path} takes images of {height}×{width}; a feature network takes squares."
            )
        self.side: int | None = height if isinstance(height, int) else None

    def __call__(self, values: Tensor) -> Extracted:
        scaled = (values / 255 * (self._high - self._low) + self._low).numpy().astype(np.float32)
        size = self._batch if isinstance(self._batch, int) else len(scaled)
        # A file with a fixed batch gets copies of the last image to fill it, and their features are dropped.
        missing = -len(scaled) % size
        padded = np.concatenate([scaled, np.repeat(scaled[-1:], missing, axis=0)])
        parts = [self._run(padded[start : start + size]) for start in range(0, len(padded), size)]
        features = torch.from_numpy(np.concatenate(parts))[: len(scaled)]
        return Extracted(features.mean(dim=(2, 3)) if features.ndim == 4 else features.flatten(1), None)

    def _run(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(self._session.run(None, {self._input: values})[0], dtype=np.float32)
