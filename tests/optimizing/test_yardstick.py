import numpy as np
import pytest
import torch

from gantune.networks.catalogue import build_network
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.yardstick import NUM_SAMPLES, ImageError, Yardstick
from network_samples import SMALL_GENERATORS


def shifted(network, by):
    copied = build_network("dcgan", SMALL_GENERATORS["dcgan"])
    copied.load_state_dict(network.state_dict())
    copied.layers[-1].register_forward_hook(lambda module, inputs, output: output + by)
    return copied


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return build_network("dcgan", SMALL_GENERATORS["dcgan"])


def test_the_error_of_a_known_shift_is_known(network):
    yardstick = Yardstick(network, QuantizationRun())
    assert len(yardstick.expected) == NUM_SAMPLES
    assert yardstick.measure(network).mean_square == 0
    assert yardstick.measure(network).error_db is None
    moved = shifted(network, 0.02)
    assert yardstick.measure(moved).mean_square == pytest.approx(4e-4, rel=1e-4)
    # 10·log10(2² / 0.02²)
    assert yardstick.measure(moved).error_db == pytest.approx(40.0, abs=1e-3)
    snr = Yardstick(network, QuantizationRun(image_error="snr"))
    variance = np.var(snr.expected.astype(np.float64), axis=(1, 2, 3))
    assert snr.measure(moved).error_db == pytest.approx(
        float(np.mean(10 * np.log10(variance / 4e-4) + 12.04)), abs=1e-3
    )


def test_images_that_are_not_finite_are_infinitely_wrong(network):
    yardstick = Yardstick(network, QuantizationRun())
    assert yardstick.measure(shifted(network, float("nan"))) == ImageError(float("inf"), None)


def test_the_spread_is_that_of_different_latents(network):
    yardstick = Yardstick(network, QuantizationRun())
    centered = yardstick.expected - yardstick.expected.mean(axis=0)
    assert yardstick.spread == pytest.approx(float(np.sqrt(np.square(centered, dtype=np.float64).mean())))
