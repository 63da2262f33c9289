import subprocess
import sys

import pytest
import torch
from torch import nn

from gantune.errors import UnsupportedError, UsageError
from gantune.transforms import freeze, resampling
from gantune.transforms.quantize import (
    FLOAT,
    Calibration,
    LayerBits,
    QuantizeOptions,
    calibrate,
    choose_bits,
    quantize,
    rounding_off,
)
from quantize_samples import LAYERS, calibrated, quantized
from transform_samples import build_small, prepare, relative_error, run


def batches(network: nn.Module) -> list[dict[str, torch.Tensor]]:
    return [network.sample_inputs(4, seed) for seed in (0, 1)]


@pytest.mark.parametrize("name", LAYERS)
def test_8_bits_are_close_and_not_equal(name: str) -> None:
    torch.manual_seed(0)
    network = LAYERS[name]()
    error = relative_error(run(quantized(network)), run(network))
    assert 0 < error < 0.05


@pytest.mark.parametrize("name", ["dcgan", "srvgg", "stylegan2", "stylegan3"])
def test_16_bits_change_almost_nothing(name: str) -> None:
    network = prepare(name)
    calibration = calibrate(network, batches(network))
    bits = dict.fromkeys(calibration.layers, LayerBits(16, 16))
    options = QuantizeOptions(bits=bits, observer="min_max")
    # On inputs that calibration saw, so that nothing is clipped.
    found = run(quantize(network, calibration, options), seed=0)
    assert relative_error(found, run(network, seed=0)) < 2e-3


def test_the_original_is_untouched_and_float_layers_change_nothing() -> None:
    network = freeze(build_small("srvgg"))
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    calibration = calibrate(network, batches(network))
    copied = quantize(network, calibration, QuantizeOptions(bits=dict.fromkeys(calibration.layers, FLOAT)))
    assert torch.equal(run(copied), run(network))
    assert not torch.equal(run(quantize(network, calibration)), run(network))
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


@pytest.mark.parametrize("form", ["transposed", "subpixel"])
def test_up_convolutions_of_style_networks_are_rounded(form: str) -> None:
    network = resampling(prepare("stylegan2"), form)
    calibration = calibrate(network, batches(network))
    names = [name for name in calibration.layers if name.endswith("conv0.convolution")]
    assert names
    bits = dict.fromkeys(calibration.layers, FLOAT) | dict.fromkeys(names, LayerBits(8, 8))
    rounded = quantize(network, calibration, QuantizeOptions(bits=bits))
    error = relative_error(run(rounded), run(network))
    assert 0 < error < 0.1
    with rounding_off(rounded):
        assert 0 < relative_error(run(rounded), run(network)) < error


def test_ends_and_linear_layers_stay_high() -> None:
    network = prepare("stylegan2")
    calibration = calibrate(network, batches(network))
    chosen = choose_bits(calibration, QuantizeOptions())
    names = [name for name, record in calibration.layers.items() if record.kind != "linear"]
    assert chosen[names[0]].activations is None
    assert chosen[names[-1]].activations is None
    assert chosen[names[1]] == LayerBits(8, 8)
    linear = [name for name, record in calibration.layers.items() if record.kind == "linear"]
    assert linear
    assert all(chosen[name] == LayerBits(8, None) for name in linear)


def test_a_network_of_linear_layers_is_computed_with_integers() -> None:
    chosen = choose_bits(calibrated(LAYERS["linear"]()), QuantizeOptions())
    assert chosen == {"layer": LayerBits(8, 8)}


def test_an_unknown_layer_is_refused_with_near_names() -> None:
    network = freeze(build_small("srvgg"))
    calibration = calibrate(network, batches(network))
    with pytest.raises(UsageError, match=r"no layer 'body\.3'.*body\.\d"):
        quantize(network, calibration, QuantizeOptions(bits={"body.3": FLOAT}))


def test_a_quantized_network_is_refused() -> None:
    network = LAYERS["convolution"]()
    with pytest.raises(UnsupportedError, match="quantized already"):
        quantize(quantized(network), calibrated(network))


def test_a_network_without_dense_layers_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="no layer with constant weights"):
        quantize(nn.ReLU(), Calibration({}, 8))


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(UsageError, match="'tvm'; there are: openvino, onnxruntime"):
        QuantizeOptions(engine="tvm")  # type: ignore[arg-type]


def test_torchs_deprecated_quantization_is_not_imported_by_us() -> None:
    code = (
        "import sys, torch; before = set(sys.modules); import gantune.transforms.quantize; "
        "assert not [n for n in set(sys.modules) - before if n.startswith('torch.ao.quantization')]"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert child.returncode == 0, child.stderr


@pytest.mark.parametrize(("low", "symmetry"), [(-0.1, "symmetric"), (0.0, "asymmetric")])
def test_openvinos_transposed_convolutions_get_no_zero_point(low: float, symmetry: str) -> None:
    assert QuantizeOptions(engine="openvino").choose_symmetry("transposed", low) == symmetry
    assert QuantizeOptions(engine="openvino").choose_symmetry("convolution", low) == "asymmetric"
    wished = QuantizeOptions(engine="openvino", activations="asymmetric")
    assert wished.choose_symmetry("transposed", low) == "asymmetric"
