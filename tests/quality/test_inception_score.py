import math

import pytest
import torch
from torch import Tensor, nn
from torchmetrics.image.inception import InceptionScore

from gantune.errors import UsageError
from gantune.quality.inception_score import inception_score


class Flat(nn.Module):
    num_features = 12

    def forward(self, images: Tensor) -> Tensor:
        return images.reshape(len(images), -1)


@pytest.mark.filterwarnings("ignore:Metric .* will save all:UserWarning")
@pytest.mark.filterwarnings("ignore:std:UserWarning")
def test_one_split_is_torchmetrics() -> None:
    logits = 3 * torch.randn(200, 12, generator=torch.Generator().manual_seed(0))
    metric = InceptionScore(feature=Flat(), splits=1)
    metric.update(logits.reshape(-1, 3, 2, 2))
    expected, _ = metric.compute()
    assert inception_score(logits, num_splits=1)[0] == pytest.approx(float(expected), rel=1e-4)


def test_sure_and_evenly_spread_answers_give_the_number_of_classes() -> None:
    logits = torch.eye(5).repeat(4, 1) * 1e4
    assert inception_score(logits, num_splits=1)[0] == pytest.approx(5)


def test_equal_answers_give_one() -> None:
    mean, deviation = inception_score(torch.ones(20, 5), num_splits=2)
    assert mean == pytest.approx(1)
    assert deviation == pytest.approx(0)


def test_two_answers_by_hand() -> None:
    # p = (3/4, 1/4) and (1/4, 3/4), mean (1/2, 1/2): KL = 3/4·ln 1.5 + 1/4·ln 0.5.
    logits = torch.tensor([[math.log(3), 0.0], [0.0, math.log(3)]])
    expected = math.exp(0.75 * math.log(1.5) + 0.25 * math.log(0.5))
    assert inception_score(logits, num_splits=1)[0] == pytest.approx(expected)


def test_fewer_images_than_splits_need_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 2 images a split"):
        inception_score(torch.zeros(10, 3), num_splits=6)
