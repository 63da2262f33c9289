import pytest

from gantune.training.augment.adjust import AugmentState, adjust_probability
from gantune.training.options import AugmentOptions

OPTIONS = AugmentOptions(kind="ada", target=0.6, ada_kimg=0.5)


@pytest.mark.parametrize(("mean_sign", "expected"), [(0.9, 0.4), (0.6, 0.2), (0.1, 0.0)])
def test_p_follows_the_mean_sign_of_real_logits(mean_sign, expected):
    state = AugmentState(p=0.2).observe(10 * mean_sign, 10)
    # 100 of the 500 images that take p from 0 to 1.
    moved = adjust_probability(state, OPTIONS, num_images=100)
    assert moved.p == pytest.approx(expected)
    assert (moved.sign_sum, moved.sign_count) == (0, 0)


def test_p_stays_between_none_and_always():
    state = AugmentState(p=0.95).observe(10, 10)
    assert adjust_probability(state, OPTIONS, num_images=100).p == 1


def test_a_fixed_p_does_not_move():
    state = AugmentState(p=0.5).observe(10, 10)
    assert adjust_probability(state, AugmentOptions(kind="fixed"), num_images=100).p == 0.5


def test_signs_add_up_over_batches():
    state = AugmentState(p=0).observe(3, 4).observe(-1, 4)
    assert (state.sign_sum, state.sign_count) == (2, 8)
