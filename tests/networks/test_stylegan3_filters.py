"""The filters of StyleGAN3 are low-pass filters, and those that the authors' files hold."""

import pytest
import torch

from gantune.networks.catalogue import build_network
from gantune.networks.stylegan3_filters import design_lowpass
from stylegan_golden import STYLEGAN3_NAMES, load_golden


def test_one_tap_is_no_filter():
    assert design_lowpass(1, cutoff=2, half_width=6, sampling_rate=32) is None


@pytest.mark.parametrize("is_radial", [False, True])
def test_a_filter_is_symmetric_and_keeps_constants(is_radial):
    taps = design_lowpass(12, cutoff=4, half_width=4, sampling_rate=32, is_radial=is_radial)
    assert taps.shape == ((12, 12) if is_radial else (12,))
    assert taps.sum().item() == pytest.approx(1, abs=1e-6)
    torch.testing.assert_close(taps, taps.flip(0))
    if is_radial:
        torch.testing.assert_close(taps, taps.t())


def test_a_filter_passes_its_band_and_stops_beyond_it():
    taps = design_lowpass(64, cutoff=8, half_width=2, sampling_rate=64).double()
    response = torch.fft.rfft(taps, 64 * 8).abs()  # one eighth of a cycle per bin
    assert response[: 6 * 8].min() > 0.98
    assert response[10 * 8 + 1 :].max() < 0.02
    assert response[8 * 8].item() == pytest.approx(0.5, abs=0.01)


def test_a_radial_filter_of_odd_length_is_finite_in_the_middle():
    # A disc far below the taps' spacing is flat over them, which leaves the window alone.
    taps = design_lowpass(5, cutoff=0.01, half_width=4, sampling_rate=32, is_radial=True)
    window = taps.diagonal().sqrt()
    torch.testing.assert_close(taps, window[:, None] * window[None, :], rtol=1e-4, atol=0)


@pytest.mark.parametrize("name", STYLEGAN3_NAMES)
def test_designed_filters_are_the_stored_ones(name):
    stored = load_golden(name).generator
    designed = build_network("stylegan3", stored.config).state_dict()
    filters = {key: tensor for key, tensor in stored.state_dict().items() if key.endswith("_filter")}
    assert len(filters) == 16
    for key, tensor in filters.items():
        torch.testing.assert_close(designed[key], tensor, rtol=0, atol=1e-7)
