from pathlib import Path

import pytest
from torch import nn

from artifact_samples import write_onnx_artifact
from gantune.networks.catalogue import build_network
from gantune.optimizing.bottleneck import describe_bottleneck, time_engine_layers
from gantune.records.plan import PlannedCandidate, Step
from network_samples import SMALL_GENERATORS


def planned(engine: str) -> PlannedCandidate:
    return PlannedCandidate(
        name=engine, engine=engine, precision="fp32", steps=(Step(kind="transform", name="freeze"),), why=""
    )


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_an_engine_names_its_layers_and_their_shares_add_up(tmp_path: Path, engine: str) -> None:
    write_onnx_artifact(tmp_path, engine=engine)
    layers = time_engine_layers(nn.Identity(), planned(engine), tmp_path, threads=1, image_size=8)
    assert sum(layer.share for layer in layers) == pytest.approx(1)
    assert [layer.time_ms for layer in layers] == sorted((one.time_ms for one in layers), reverse=True)
    assert any("Conv" in layer.kind for layer in layers)
    told = describe_bottleneck(nn.Identity(), planned(engine), tmp_path, threads=1, image_size=8)
    assert "layers take" in told


def test_torch_is_timed_by_modules_and_a_compiler_says_nothing(tmp_path: Path) -> None:
    write_onnx_artifact(tmp_path)
    network = build_network("dcgan", SMALL_GENERATORS["dcgan"])
    layers = time_engine_layers(network, planned("torch"), tmp_path, threads=1, image_size=8)
    assert layers
    assert time_engine_layers(network, planned("torch_compile"), tmp_path, threads=1, image_size=8) == ()
    told = describe_bottleneck(network, planned("torch_compile"), tmp_path, threads=1, image_size=8)
    assert "does not say" in told
