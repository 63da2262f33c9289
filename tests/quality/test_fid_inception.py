import math
from pathlib import Path

import pytest
import torch

from gantune.errors import CheckpointError, UnavailableError
from gantune.quality.fid_inception import PUBLISHED, FIDInception, open_fid_inception


@pytest.fixture(scope="module")
def network() -> FIDInception:
    torch.manual_seed(0)
    return FIDInception().eval().requires_grad_(False)


def test_it_has_the_published_number_of_weights(network: FIDInception) -> None:
    # 23,834,568 for 1000 classes without the auxiliary classifier (the paper's "under 25 million"), and
    # 8 more classes of 2048 weights and a bias each.
    assert sum(p.numel() for p in network.parameters()) == 23_834_568 + 8 * 2049


def test_the_grids_and_widths_are_those_of_the_paper(network: FIDInception) -> None:
    shapes: dict[str, list[int]] = {}
    for name in (
        "Conv2d_2b_3x3",
        "Conv2d_4a_3x3",
        "Mixed_5d",
        "Mixed_6a",
        "Mixed_6e",
        "Mixed_7a",
        "Mixed_7c",
    ):
        getattr(network, name).register_forward_hook(
            lambda _module, _inputs, output, name=name: shapes.__setitem__(name, list(output.shape[1:]))
        )
    features, logits = network(torch.zeros(1, 3, 299, 299))
    assert shapes == {
        "Conv2d_2b_3x3": [64, 147, 147],
        "Conv2d_4a_3x3": [192, 71, 71],
        "Mixed_5d": [288, 35, 35],
        "Mixed_6a": [768, 17, 17],
        "Mixed_6e": [768, 17, 17],
        "Mixed_7a": [1280, 8, 8],
        "Mixed_7c": [2048, 8, 8],
    }
    assert list(features.shape) == [1, 2048]
    assert torch.allclose(logits + network.fc.bias, network.fc(features), atol=1e-5)


def test_average_pooling_leaves_out_the_padding(network: FIDInception) -> None:
    from gantune.quality.fid_inception import _average

    assert torch.allclose(_average(torch.ones(1, 1, 5, 5)), torch.ones(1, 1, 5, 5))
    assert math.isclose(float(_average(torch.arange(4.0).reshape(1, 1, 2, 2))[0, 0, 0, 0]), 1.5)


def test_weights_come_from_a_file_of_the_stated_hash(network: FIDInception, tmp_path: Path) -> None:
    path = tmp_path / "inception.pth"
    torch.save(network.state_dict(), path)
    with pytest.raises(CheckpointError, match=PUBLISHED.sha256):
        open_fid_inception(path)
    from gantune.quality.weights_file import hash_file

    opened = open_fid_inception(path, sha256=hash_file(path), resize="legacy")
    assert opened.weights_sha256 == hash_file(path)
    assert opened.resize_identity == "legacy to 299"


def test_without_weights_fid_is_not_available_and_nothing_is_fetched() -> None:
    with pytest.raises(UnavailableError, match=r"FID is not available.*--weights.*--download"):
        open_fid_inception(None)
