from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import nn

from gantune.backends import BuildOptions, find_backend
from gantune.backends.executed_layers import read_executed_layers
from gantune.errors import UnsupportedError
from gantune.exporting.qdq import export_qdq, integer_type
from gantune.runtime import load
from gantune.transforms import resampling
from gantune.transforms.quantize import (
    WEIGHTS_ONLY,
    LayerBits,
    QuantizeOptions,
    calibrate,
    choose_bits,
    quantize,
)
from quantize_samples import LAYERS, OneLayer, calibrated, quantized
from transform_samples import prepare

CASES = [
    ("onnxruntime", "convolution"),
    ("onnxruntime", "strided"),
    ("onnxruntime", "depthwise"),
    *(("openvino", name) for name in LAYERS),
]
SCHEMES = {
    "as the engine likes it": {},
    "symmetric": {"activations": "symmetric"},
    "one scale a weight": {"weights": "per_tensor"},
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("engine", "name"), CASES)
def test_integer_kernels_give_the_rounded_layer_within_one_step(
    tmp_path: Path, engine: str, name: str, scheme: str
) -> None:
    torch.manual_seed(0)
    network = LAYERS[name]()
    rounded = quantized(network, engine=engine, **SCHEMES[scheme])
    options = BuildOptions(precision="int8", engine_options=(("rest_precision", "fp32"),))
    find_backend(engine).build(rounded, tmp_path / "artifact", options)
    inputs = network.sample_inputs(3, seed=7)
    with torch.inference_mode():
        expected = rounded(**inputs).numpy()
    found = load(tmp_path / "artifact")(z=inputs["z"].numpy())
    step = (expected.max() - expected.min()) / 255
    if rounded.layer.output_grid is not None:
        step = float(rounded.layer.output_grid.scale)
    assert np.abs(found - expected).max() <= 1.01 * step
    assert read_executed_layers(tmp_path / "artifact")["layer"] == "int8"


@pytest.mark.parametrize(("engine", "name"), CASES)
def test_four_bits_are_clipped_and_run_in_integer_kernels(tmp_path: Path, engine: str, name: str) -> None:
    torch.manual_seed(0)
    network = LAYERS[name]()
    options = QuantizeOptions(engine=engine, bits={"layer": LayerBits(4, 4)})
    rounded = quantize(network, calibrated(network), options)
    build = BuildOptions(precision="int8", engine_options=(("rest_precision", "fp32"),))
    find_backend(engine).build(rounded, tmp_path / "artifact", build)
    # Far beyond the range that calibration saw: integers of 8 bits would go on where 4 bits end.
    inputs = {"z": 4 * network.sample_inputs(3, seed=7)["z"]}
    with torch.inference_mode():
        expected = rounded(**inputs).numpy()
    found = load(tmp_path / "artifact")(z=inputs["z"].numpy())
    step = (expected.max() - expected.min()) / 255
    if rounded.layer.output_grid is not None:
        step = float(rounded.layer.output_grid.scale)
    assert np.abs(found - expected).max() <= 1.01 * step
    assert read_executed_layers(tmp_path / "artifact")["layer"] == "int8"


def test_openvino_runs_a_transposed_convolution_with_a_zero_point_in_float(tmp_path: Path) -> None:
    """The reason why `EngineScheme.without_zero_point` names it: a newer OpenVINO may make this test fail."""
    network = LAYERS["transposed"]()
    rounded = quantized(network, engine="openvino", activations="asymmetric")
    assert float(rounded.layer.input_grid.zero_point) != 0
    options = BuildOptions(precision="int8", engine_options=(("rest_precision", "fp32"),))
    find_backend("openvino").build(rounded, tmp_path / "artifact", options)
    assert read_executed_layers(tmp_path / "artifact")["layer"] == "fp32"


@pytest.mark.parametrize(("bits", "stored"), [(8, "INT8"), (4, "INT4"), (2, "INT4"), (1, "INT4")])
def test_weights_are_stored_in_their_bits(tmp_path: Path, bits: int, stored: str) -> None:
    network = OneLayer(nn.Conv2d(64, 64, 3, padding=1), (64, 6, 6))
    options = QuantizeOptions(bits={"layer": LayerBits(bits, None)})
    report = export_qdq(quantize(network, calibrated(network), options), tmp_path / "network.onnx")
    graph = onnx.load(report.path).graph
    kinds = {onnx.TensorProto.DataType.Name(tensor.data_type) for tensor in graph.initializer}
    assert stored in kinds
    num_weights = 64 * 64 * 9
    assert report.size_bytes < num_weights * (0.5 if bits <= 4 else 1) + 4000


def test_one_file_takes_any_batch_and_names_its_layers(tmp_path: Path) -> None:
    report = export_qdq(quantized(LAYERS["convolution"]()), tmp_path / "network.onnx")
    graph = onnx.load(report.path).graph
    assert [node.name for node in graph.node if node.op_type == "Conv"] == ["layer"]
    assert graph.input[0].type.tensor_type.shape.dim[0].dim_param
    assert not any(node.metadata_props for node in graph.node)
    assert report.paired.max_error < 1


def test_a_float_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="quantize it before a QDQ export"):
        export_qdq(LAYERS["convolution"](), tmp_path / "network.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_layer_kept_in_float_is_seen_as_float(tmp_path: Path) -> None:
    network = LAYERS["convolution"]()
    rounded = quantize(network, calibrated(network), QuantizeOptions(bits={"layer": WEIGHTS_ONLY}))
    for engine in ("onnxruntime", "openvino"):
        options = BuildOptions(precision="int8", engine_options=(("rest_precision", "fp32"),))
        find_backend(engine).build(rounded, tmp_path / engine, options)
        assert read_executed_layers(tmp_path / engine)["layer"] == "fp32"


@pytest.mark.parametrize(
    ("low", "high", "name"),
    [
        (-127, 127, "INT8"),
        (0, 255, "UINT8"),
        (-32767, 32767, "INT16"),
        (0, 65535, "UINT16"),
        (0, 15, "UINT8"),
    ],
)
def test_the_smallest_type_that_holds_the_integers(low: int, high: int, name: str) -> None:
    assert integer_type(low, high) == getattr(onnx.TensorProto, name)


def test_an_up_convolution_and_its_filter_have_names_of_their_own(tmp_path: Path) -> None:
    network = resampling(prepare("stylegan2"), "transposed")
    calibration = calibrate(network, [network.sample_inputs(8, seed=0)])
    report = export_qdq(quantize(network, calibration), tmp_path / "network.onnx")
    names = [node.name for node in onnx.load(report.path).graph.node]
    assert len(set(names)) == len(names)
    layers = [name for name in calibration.layers if name.endswith("conv0.convolution")]
    assert layers
    assert all(name in names and f"{name}.filter" in names for name in layers)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["transposed", "subpixel"])
def test_openvino_runs_every_styled_convolution_that_is_asked_for_with_integers(
    tmp_path: Path, form: str
) -> None:
    network = resampling(prepare("stylegan2"), form)
    calibration = calibrate(network, [network.sample_inputs(8, seed=0)])
    options = BuildOptions(precision="int8", engine_options=(("rest_precision", "fp32"),))
    find_backend("openvino").build(quantize(network, calibration), tmp_path / "artifact", options)
    executed = read_executed_layers(tmp_path / "artifact")
    chosen = choose_bits(calibration, QuantizeOptions())
    asked = [name for name, bits in chosen.items() if bits.activations]
    assert len(asked) >= 3
    assert {name: executed[name] for name in asked} == dict.fromkeys(asked, "int8")
