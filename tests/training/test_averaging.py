import pytest
import torch
from torch import nn

from gantune.training.averaging import average_decay, update_average


def test_half_of_the_past_is_gone_after_the_half_life():
    decay = average_decay(batch=32, num_images=10**6, half_life_kimg=10, rampup=None)
    assert decay ** (10_000 / 32) == pytest.approx(0.5)


def test_the_rampup_shortens_the_half_life_at_the_start():
    # After 1,000 images a ramp-up of 0.05 allows 50 images of half-life: one batch of 50 halves the past.
    assert average_decay(batch=50, num_images=1000, half_life_kimg=10, rampup=0.05) == pytest.approx(0.5)
    assert average_decay(batch=32, num_images=0, half_life_kimg=10, rampup=0.05) == 0


@pytest.mark.parametrize("grouped", [True, False])
def test_parameters_move_and_buffers_are_copied(grouped):
    average, network = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    with torch.no_grad():
        average.weight.copy_(torch.tensor([1.0, 2.0]))
        network.weight.copy_(torch.tensor([3.0, -2.0]))
        network.running_mean.fill_(5)
    update_average(average, network, 0.75, grouped=grouped)
    assert average.weight.tolist() == [1.5, 1.0]
    assert average.running_mean.tolist() == [5, 5]
    assert network.weight.tolist() == [3.0, -2.0]
