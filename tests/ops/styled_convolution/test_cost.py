"""Costs by hand calculation."""

import torch

from gantune.ops.operation_cost import OperationCost
from gantune.ops.styled_convolution import StyledOptions
from gantune.ops.styled_convolution.cost import project_pixels_cost, styled_convolution_cost


def test_a_plain_convolution_is_its_products_and_one_pass() -> None:
    cost = styled_convolution_cost((2, 4, 8, 10), (6, 4, 3, 3), StyledOptions(padding=1))
    # 6 · 4 · 9 products at 80 positions, in 2 samples.
    assert cost == OperationCost(flops=2 * 2 * 216 * 80, moved_bytes=(2 * (4 + 6) * 80 + 216) * 4)


def test_what_stands_around_the_convolution_is_counted() -> None:
    options = StyledOptions(
        scale_in=torch.ones(1, 4), scale_out=torch.ones(1, 6), noise=torch.ones(1, 1, 10, 12),
        bias=torch.ones(6), slope=torch.ones(6), clamp=1.0, padding=2,
    )  # fmt: skip
    cost = styled_convolution_cost((1, 4, 8, 10), (6, 4, 3, 3), options)
    # 10 × 12 results: scale, noise, bias 1 each, the leaky ReLU and the clamp 2 each.
    assert cost.flops == 2 * 216 * 120 + 6 * 120 * 7 + 4 * 80
    assert cost.moved_bytes == (4 * 80 + 6 * 120 + 216 + 4 + 6 + 120 + 6 + 6) * 4


def test_an_upsampling_layer_works_at_the_input_size_and_smooths_after() -> None:
    options = StyledOptions(smooth=[0.25, 0.5, 0.25])
    cost = styled_convolution_cost((1, 4, 8, 10), (4 * 6, 4, 2, 2), options)
    # Four phases of 2 × 2 taps are 16 products; two passes of three taps over 16 × 20 results.
    assert cost.flops == 2 * 6 * 4 * 16 * 80 + 6 * 320 * 12
    assert cost.moved_bytes == (4 * 80 + 6 * 320 + 6 * 4 * 16) * 4


def test_a_projection_is_a_product_a_channel() -> None:
    cost = project_pixels_cost((2, 16, 8, 10), 3, has_clamp=True)
    assert cost == OperationCost(
        flops=2 * 80 * 3 * (32 + 3), moved_bytes=(2 * (16 + 3) * 80 + 2 * 48 + 3) * 4
    )
