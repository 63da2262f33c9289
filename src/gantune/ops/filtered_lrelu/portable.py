"""filtered_lrelu by depthwise convolutions, with the gains folded into the upsampling filter."""

from dataclasses import replace

from torch import Tensor

from gantune.ops.bias_act.portable import activate_lrelu
from gantune.ops.channel_groups import map_channel_groups
from gantune.ops.choose import Form, never_refuses
from gantune.ops.computing_dtype import cast, computing_dtype
from gantune.ops.filtered_lrelu.options import FilteredLreluOptions
from gantune.ops.upfirdn2d.portable import resample_in_float


def filtered_lrelu_portable(
    x: Tensor, fu: Tensor | None, fd: Tensor | None, b: Tensor | None, options: FilteredLreluOptions
) -> Tensor:
    """Compute filtered_lrelu by groups of channels, so that the upsampled images stay in the cache."""
    up_options = options.up_options
    height, width = up_options.output_size(x.shape[2], x.shape[3], taps_y=1, taps_x=1)

    def run(group: Tensor, channels: slice) -> Tensor:
        bias = None if b is None else b[channels]
        return cast(_filter_group(group, fu, fd, bias, options), x.dtype)

    return map_channel_groups(x, run, plane_bytes=height * width * 4)


def _filter_group(
    x: Tensor, fu: Tensor | None, fd: Tensor | None, b: Tensor | None, options: FilteredLreluOptions
) -> Tensor:
    dtype = computing_dtype(x.dtype)
    x = cast(x, dtype)
    if b is not None:
        x = x + cast(b[:, None, None], dtype)
    up_options = options.up_options
    if options.gain > 0:
        # The leaky ReLU is homogeneous, so a positive gain may come before it, in the filter.
        up_options = replace(up_options, gain=up_options.gain * options.gain)
    x = resample_in_float(x, fu, up_options)
    if options.gain > 0:
        x = activate_lrelu(x, slope=options.slope, clamp=options.clamp, may_overwrite=True)
    else:
        x = activate_lrelu(x, slope=options.slope, clamp=None, may_overwrite=True) * options.gain
        x = activate_lrelu(x, slope=1.0, clamp=options.clamp, may_overwrite=True)
    if fd is None and options.down == 1:
        return x
    return resample_in_float(x, fd, options.down_options)


FORM = Form(name="portable", run=filtered_lrelu_portable, missing=None, refusal=never_refuses)
