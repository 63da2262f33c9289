"""Which of ONNX Runtime's providers an artifact is opened with."""

from pathlib import Path

import onnxruntime
import pytest

from artifact_samples import write_onnx_artifact
from gantune import runtime
from gantune.errors import CheckpointError, UnavailableError
from gantune.runtime.engines.onnxruntime import choose_providers

CPU, CUDA, TENSORRT = "CPUExecutionProvider", "CUDAExecutionProvider", "TensorrtExecutionProvider"


def test_a_provider_is_tried_before_what_it_leaves_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [TENSORRT, CUDA, CPU])
    found = {
        name: choose_providers(write_onnx_artifact(tmp_path / name, options={"provider": name}))
        for name in ("cpu", "cuda", "tensorrt")
    }
    assert found == {"cpu": [CPU], "cuda": [CUDA, CPU], "tensorrt": [TENSORRT, CUDA, CPU]}


def test_a_provider_that_is_not_installed_is_never_replaced_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CPU])
    write_onnx_artifact(tmp_path, options={"provider": "cuda"})
    with pytest.raises(UnavailableError, match="pip install onnxruntime-gpu"):
        runtime.load(tmp_path)


def test_an_unknown_provider_is_refused(tmp_path: Path) -> None:
    write_onnx_artifact(tmp_path, options={"provider": "abacus"})
    with pytest.raises(CheckpointError, match="one of cpu, cuda, tensorrt"):
        runtime.load(tmp_path)
