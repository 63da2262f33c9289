"""upfirdn2d on a GPU: zero insertion, filter and decimation fused into one Triton kernel."""

from torch import Tensor

from gantune.ops.choose import Form
from gantune.ops.triton.device_facts import find_missing
from gantune.ops.triton.launching import find_refusal
from gantune.ops.triton.resample import resample
from gantune.ops.upfirdn2d.options import Upfirdn2dOptions


def upfirdn2d_triton(x: Tensor, f: Tensor | None, options: Upfirdn2dOptions) -> Tensor:
    """Compute upfirdn2d by direct sums, or by band products where a separable filter is long."""
    result: Tensor = resample(
        x,
        x.new_ones([1]) if f is None else f,
        [options.up_x, options.up_y],
        [options.down_x, options.down_y],
        list(options.padding),
        options.flip_filter,
        options.gain,
    )
    return result


def _refuse(x: Tensor, f: Tensor | None, options: Upfirdn2dOptions) -> str | None:
    return find_refusal([x], [f])


FORM = Form(name="triton", run=upfirdn2d_triton, missing=find_missing(), refusal=_refuse, devices=("cuda",))
