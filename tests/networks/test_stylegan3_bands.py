"""The layer plan of StyleGAN3 is the paper's (arXiv 2106.12423, section 4 and figure 4)."""

from itertools import pairwise

import pytest

from gantune.networks.stylegan3_bands import AliasFreeOptions, plan_bands


def plan(**changes):
    return plan_bands(
        AliasFreeOptions(**{"w_dim": 512, "img_resolution": 1024, "img_channels": 3, **changes})
    )


def test_cutoffs_grow_geometrically_from_2_to_half_the_resolution():
    bands = plan()
    assert len(bands) == 15
    assert bands[0].cutoff == 2
    ratios = [after.cutoff / before.cutoff for before, after in pairwise(bands)]
    assert ratios[:12] == pytest.approx([256 ** (1 / 12)] * 12)
    assert [band.cutoff for band in bands[-3:]] == pytest.approx([512, 512, 512])


def test_sampling_rates_and_sizes_at_1024():
    bands = plan()
    # By hand: the stopband of layer i is 2^(2.1 + 0.6 i), its rate the power of two from twice that.
    expected = [16, 16, 32, 32, 64, 128, 128, 256, 256, 512, 1024, 1024, 1024, 1024, 1024]
    assert [band.sampling_rate for band in bands] == expected
    assert [band.size for band in bands[:4]] == [36, 36, 52, 52]
    assert [band.size for band in bands[-3:]] == [1044, 1024, 1024]


def test_critical_sampling_leaves_the_narrow_transition_band_of_the_last_layers():
    last = plan()[-1]
    assert last.half_width == pytest.approx(512 * (2**0.3 - 1))


def test_widths_follow_the_cutoff_up_to_the_maximum():
    widths = [band.channels for band in plan()]
    assert widths[0] == 512
    assert widths[-2:] == [32, 3]
