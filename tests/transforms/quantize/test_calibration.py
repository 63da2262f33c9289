import pytest
import torch

from gantune.errors import UsageError
from gantune.transforms.quantize import calibrate
from quantize_samples import LAYERS, OneLayer, calibrated


def test_too_few_samples_are_refused() -> None:
    network = LAYERS["convolution"]()
    with pytest.raises(UsageError, match="got 7 samples; it needs at least 8"):
        calibrate(network, [network.sample_inputs(7, 0)])


def test_nan_is_refused() -> None:
    network = LAYERS["convolution"]()
    batch = network.sample_inputs(8, 0)
    batch["z"][3, 1, 2, 2] = float("nan")
    with pytest.raises(UsageError, match="NaN or infinity"):
        calibrate(network, [batch])


def test_hooks_are_gone_afterwards_even_after_a_failure() -> None:
    network = LAYERS["convolution"]()
    with pytest.raises(UsageError):
        calibrate(network, [{"z": torch.full((8, 8, 12, 12), float("nan"))}])
    assert not network.layer._forward_hooks


@pytest.mark.parametrize(
    ("name", "macs"),
    [
        ("convolution", 12 * 12 * 6 * 8 * 9),
        ("strided", 6 * 6 * 6 * 8 * 9),
        ("depthwise", 12 * 12 * 8 * 9),
        ("linear", 32 * 16),
        ("transposed", 12 * 12 * 8 * 6 * 16),
        ("transposed_groups_2", 12 * 12 * 8 * 3 * 16),
    ],
)
def test_macs_are_of_one_sample(name: str, macs: int) -> None:
    network: OneLayer = LAYERS[name]()
    assert calibrated(network).layers["layer"].macs == macs


def test_batches_are_used_one_at_a_time() -> None:
    network = LAYERS["convolution"]()
    alive = []

    def stream():  # type: ignore[no-untyped-def]
        for seed in range(4):
            alive.append(seed)
            yield network.sample_inputs(4, seed)

    assert calibrate(network, stream()).num_samples == 16
    assert alive == [0, 1, 2, 3]


def test_channel_means_are_over_all_batches() -> None:
    network = LAYERS["convolution"]()
    first, second = network.sample_inputs(4, 0), network.sample_inputs(4, 1)
    found = calibrate(network, [first, second]).layers["layer"].channel_means
    expected = torch.cat([first["z"], second["z"]]).mean(dim=(0, 2, 3))
    assert torch.allclose(found, expected, atol=1e-6)
