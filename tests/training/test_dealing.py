import pytest
import torch

from gantune.errors import UsageError
from gantune.training.dealing import deal, deal_positions


@pytest.mark.parametrize("num_parts", [1, 2, 4])
def test_every_sample_is_dealt_once(num_parts):
    parts = [deal_positions(16, part=i, num_parts=num_parts, group_size=4) for i in range(num_parts)]
    assert sorted(torch.cat(parts).tolist()) == list(range(16))


def test_a_part_holds_whole_groups():
    # 16 samples in groups of 4: sample n is in group n mod 4. The first of two parts has groups 0 and 1 ...
    part = deal_positions(16, part=0, num_parts=2, group_size=4)
    assert part.tolist() == [0, 1, 4, 5, 8, 9, 12, 13]
    # ... and within it, sample n is again in group n mod 2: even places are group 0, odd places group 1.
    assert {int(position) % 4 for position in part[0::2]} == {0}
    assert {int(position) % 4 for position in part[1::2]} == {1}


def test_dealing_a_share_again_keeps_the_groups():
    draw = {"x": torch.arange(32)}
    share = deal(draw, part=1, num_parts=2, group_size=4)
    twice = deal(share, part=1, num_parts=2, group_size=4)
    assert twice["x"].tolist() == [6, 7, 14, 15, 22, 23, 30, 31]


@pytest.mark.parametrize(("num_samples", "num_parts", "group_size"), [(8, 4, 4), (10, 1, 4), (12, 2, 4)])
def test_what_does_not_split_is_refused(num_samples, num_parts, group_size):
    with pytest.raises(UsageError, match="does not split"):
        deal_positions(num_samples, part=0, num_parts=num_parts, group_size=group_size)


def test_a_batch_smaller_than_a_group_is_one_group():
    assert deal_positions(3, part=0, num_parts=1, group_size=4).tolist() == [0, 1, 2]
