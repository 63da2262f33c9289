from pathlib import Path

import numpy as np
import openvino
import pytest

from artifact_samples import expected_image, write_onnx_artifact
from gantune import runtime


def test_each_of_the_first_shapes_is_compiled_once_and_later_ones_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_onnx_artifact(tmp_path, engine="openvino")
    compiled: list[str] = []
    compile_model = openvino.Core.compile_model

    def record(core: openvino.Core, model: openvino.Model, *args: object) -> openvino.CompiledModel:
        compiled.append(str(model.input("z").partial_shape))
        return compile_model(core, model, *args)

    monkeypatch.setattr(openvino.Core, "compile_model", record)
    loaded = runtime.load(tmp_path, threads=1)
    for batch in (1, 2, 3, 2, 4, 5, 6, 1, 5):
        z = np.random.default_rng(batch).standard_normal((batch, 4)).astype(np.float32)
        np.testing.assert_allclose(loaded(z=z), expected_image(z), atol=1e-5)
    assert compiled == ["[1,4]", "[2,4]", "[3,4]", "[4,4]", "[?,4]"]
