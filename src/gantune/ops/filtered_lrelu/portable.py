"""filtered_lrelu by depthwise convolutions, with the gains folded into the upsampling filter."""

from dataclasses import replace

import torch
from torch import Tensor

from gantune.ops.bias_act.portable import activate_lrelu
from gantune.ops.channel_groups import map_channel_groups
from gantune.ops.choose import Form, never_refuses
from gantune.ops.computing_dtype import cast, computing_dtype
from gantune.ops.filtered_lrelu.options import FilteredLreluOptions
from gantune.ops.upfirdn2d.options import Upfirdn2dOptions
from gantune.ops.upfirdn2d.portable import Pass, plan_passes, run_passes


def filtered_lrelu_portable(
    x: Tensor, fu: Tensor | None, fd: Tensor | None, b: Tensor | None, options: FilteredLreluOptions
) -> Tensor:
    """Compute filtered_lrelu by groups of channels, so that the upsampled images stay in the cache.

    On a CPU the result is channels-last whatever `x` is: turning it around would cost a third of the time.
    """
    dtype = computing_dtype(x.dtype)
    up_options = options.up_options
    gain_after = 1.0
    if options.gain > 0:
        # The leaky ReLU is homogeneous, so a positive gain may come before it, in the filter.
        up_options = replace(up_options, gain=up_options.gain * options.gain)
    else:
        gain_after = options.gain
    up_passes = _plan(fu, up_options, x, dtype)
    down_passes = _plan(fd, options.down_options, x, dtype)
    bias = None if b is None else cast(b[:, None, None], dtype)

    def run(group: Tensor, channels: slice) -> Tensor:
        y = cast(group, dtype)
        if bias is not None:
            y = y + bias[channels]
        # With no pass before it, `y` may be the caller's own tensor.
        is_ours = bool(up_passes)
        y = run_passes(y, up_passes)
        y = activate_lrelu(y, slope=options.slope, clamp=None, may_overwrite=is_ours)
        if gain_after != 1:
            y = y * gain_after
        y = activate_lrelu(y, slope=1.0, clamp=options.clamp, may_overwrite=is_ours)
        return cast(run_passes(y, down_passes), x.dtype)

    height, width = up_options.output_size(x.shape[2], x.shape[3], taps_y=1, taps_x=1)
    return map_channel_groups(x, run, plane_bytes=height * width * 4)


def _plan(f: Tensor | None, options: Upfirdn2dOptions, x: Tensor, dtype: torch.dtype) -> tuple[Pass, ...]:
    if f is None:
        if options == Upfirdn2dOptions(flip_filter=options.flip_filter):
            return ()
        f = torch.ones([1, 1], device=x.device)
    return plan_passes(cast(f, dtype), options)


FORM = Form(name="portable", run=filtered_lrelu_portable, missing=None, refusal=never_refuses)
