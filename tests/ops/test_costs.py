"""Costs by hand calculation."""

import pytest

from gantune.errors import UnsupportedError
from gantune.ops.bias_act.cost import bias_act_cost
from gantune.ops.bias_act.options import parse_options as bias_act_options
from gantune.ops.filtered_lrelu.cost import filtered_lrelu_cost
from gantune.ops.filtered_lrelu.options import parse_options as filtered_lrelu_options
from gantune.ops.modulated_conv2d.cost import modulated_conv2d_cost
from gantune.ops.modulated_conv2d.options import ModulatedConv2dOptions
from gantune.ops.operation_cost import OperationCost
from gantune.ops.padding import Padding
from gantune.ops.resampled_convolution import ConvolutionOptions
from gantune.ops.upfirdn2d.cost import upfirdn2d_cost
from gantune.ops.upfirdn2d.options import parse_options as upfirdn2d_options


def test_upsampling_meets_only_the_taps_on_samples() -> None:
    options = upfirdn2d_options(2, 1, [2, 1, 2, 1], flip_filter=False, gain=4)
    # 4 × 4 taps at factor 2 × 2: 2 × 2 meet a sample; 2 flops each; 16 × 20 results in 2 · 3 planes.
    cost = upfirdn2d_cost((2, 3, 8, 10), (4, 4), options)
    assert cost == OperationCost(flops=6 * 320 * 4 * 2, moved_bytes=6 * (80 + 320) * 4)
    # Separable: a vertical pass of 16 × 10 results with 2 taps, then a horizontal one of 16 × 20.
    assert upfirdn2d_cost((2, 3, 8, 10), (4,), options).flops == 6 * (160 * 2 + 320 * 2) * 2


def test_downsampling_computes_only_what_is_kept() -> None:
    options = upfirdn2d_options(1, 2, 1, flip_filter=False, gain=1)
    cost = upfirdn2d_cost((1, 1, 8, 8), (4, 4), options, element_bytes=2)
    assert cost == OperationCost(flops=16 * 16 * 2, moved_bytes=(64 + 16) * 2)


def test_no_filter_costs_only_traffic() -> None:
    options = upfirdn2d_options(2, 1, 0, flip_filter=False, gain=1)
    assert upfirdn2d_cost((1, 1, 4, 4), None, options) == OperationCost(0, (16 + 64) * 4)


def test_bias_act_is_one_pass() -> None:
    options = bias_act_options(1, "lrelu", None, None, 256)
    cost = bias_act_cost((2, 8, 4, 4), options, has_bias=True)
    # bias 1, lrelu 2, gain 1, clamp 2
    assert cost == OperationCost(flops=256 * 6, moved_bytes=(2 * 256 + 8) * 4)


def test_filtered_lrelu_never_writes_the_upsampled_image() -> None:
    options = filtered_lrelu_options(2, 2, 5, gain=1, slope=0.2, clamp=1, flip_filter=False)
    # 8·2 + 10 − 6 + 1 = 21 upsampled; (21 − 6) // 2 + 1 = 8 results
    up = (21 * 8 * 3 + 21 * 21 * 3) * 2
    down = (8 * 21 * 6 + 8 * 8 * 6) * 2
    cost = filtered_lrelu_cost((1, 3, 8, 8), (6,), (6,), options, has_bias=True)
    assert cost == OperationCost(flops=3 * (up + down + 441 * 4 + 64), moved_bytes=(3 * (64 + 64) + 3) * 4)


def test_a_modulated_convolution_is_mostly_its_convolution() -> None:
    plain = ModulatedConv2dOptions(ConvolutionOptions(padding=Padding(1, 1, 1, 1)), True, True)
    cost = modulated_conv2d_cost((2, 4, 8, 8), (6, 4, 3, 3), None, plain, has_noise=True)
    one = 2 * 6 * 4 * 9 * 64 + 4 * 64 + 6 * 64 * 2
    energy = 2 * 6 * 4 * 9 + 2 * 2 * 6 * 4
    elements = 2 * (4 * 64 + 6 * 64 + 4 + 64) + 6 * 4 * 9
    assert cost == OperationCost(flops=2 * one + energy, moved_bytes=elements * 4)


def test_an_upsampling_convolution_works_at_the_input_size_and_filters_after() -> None:
    up = ModulatedConv2dOptions(ConvolutionOptions(up=2, padding=Padding(1, 1, 1, 1)), False, True)
    cost = modulated_conv2d_cost((1, 4, 8, 8), (6, 4, 3, 3), (4, 4), up, has_noise=False)
    assert cost.flops == 2 * 6 * 4 * 9 * 64 + 6 * 256 * 16 * 2 + 4 * 64
    assert cost.moved_bytes == (4 * 64 + 6 * 256 + 4 + 216) * 4


def test_up_and_down_at_once_is_not_counted_but_refused() -> None:
    both = ModulatedConv2dOptions(ConvolutionOptions(up=2, down=2), False, True)
    with pytest.raises(UnsupportedError, match="up"):
        modulated_conv2d_cost((1, 4, 8, 8), (6, 4, 3, 3), None, both, has_noise=False)


def test_the_slower_of_the_two_limits_sets_the_fastest_time() -> None:
    cost = OperationCost(flops=1000, moved_bytes=500)
    assert cost.fastest_ms(flops_per_s=1e6, bytes_per_s=1e6) == 1
    assert cost.fastest_ms(flops_per_s=1e9, bytes_per_s=1e6) == 0.5
