"""RRDB against a second writing of it as functions over BasicSR's names."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.networks.catalogue import build_network

State = dict[str, Tensor]


def convolve(state: State, name: str, x: Tensor) -> Tensor:
    return F.conv2d(x, state[f"{name}.weight"], state[f"{name}.bias"], padding=1)


def leak(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, 0.2 * x)


def enlarge(x: Tensor) -> Tensor:
    return x.repeat_interleave(2, 2).repeat_interleave(2, 3)


def reference(state: State, image: Tensor, *, num_block: int, num_upsamplings: int) -> Tensor:
    first = x = convolve(state, "conv_first", image)
    for block in range(num_block):
        block_input = x
        for dense in (1, 2, 3):
            features = x
            for conv in (1, 2, 3, 4):
                name = f"body.{block}.rdb{dense}.conv{conv}"
                features = torch.cat([features, leak(convolve(state, name, features))], 1)
            x = x + 0.2 * convolve(state, f"body.{block}.rdb{dense}.conv5", features)
        x = block_input + 0.2 * x
    x = first + convolve(state, "conv_body", x)
    for step in range(num_upsamplings):
        x = leak(convolve(state, f"conv_up{step + 1}", enlarge(x)))
    return convolve(state, "conv_last", leak(convolve(state, "conv_hr", x)))


def build(**changes: int) -> torch.nn.Module:
    torch.manual_seed(1)
    return build_network("rrdb", {"num_feat": 8, "num_block": 2, "num_grow_ch": 4, **changes})


@pytest.mark.parametrize("num_upsamplings", [0, 1, 2, 3])
def test_the_paper_written_as_functions_gives_the_same_image(num_upsamplings: int) -> None:
    network = build(num_upsamplings=num_upsamplings)
    image = torch.rand(2, 3, 5, 6)
    expected = reference(network.state_dict(), image, num_block=2, num_upsamplings=num_upsamplings)
    torch.testing.assert_close(network(image), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("unshuffle", "scale"), [(2, 2), (4, 1)])
def test_small_scales_fold_pixels_into_channels(unshuffle: int, scale: int) -> None:
    network = build(unshuffle=unshuffle)
    image = torch.rand(1, 3, 8, 12)
    # Channel c·r² + i·r + j of the folded image holds the pixels at row offset i, column offset j.
    folded = torch.stack(
        [
            image[:, c, i::unshuffle, j::unshuffle]
            for c in range(3)
            for i in range(unshuffle)
            for j in range(unshuffle)
        ],
        dim=1,
    )
    expected = reference(network.state_dict(), folded, num_block=2, num_upsamplings=2)
    assert expected.shape[2:] == (8 * scale, 12 * scale)
    torch.testing.assert_close(network(image), expected, rtol=1e-5, atol=1e-6)


def test_sides_that_do_not_fold_are_extended_by_reflection_and_cut_back() -> None:
    network = build(unshuffle=2)
    image = torch.rand(1, 3, 7, 5)
    extended = torch.cat([image, image[:, :, 5:6]], 2)
    extended = torch.cat([extended, extended[:, :, :, 3:4]], 3)
    found = network(image)
    assert found.shape == (1, 3, 14, 10)
    torch.testing.assert_close(found, network(extended)[:, :, :14, :10])
