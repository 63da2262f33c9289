"""filtered_lrelu on a GPU: one Triton kernel, so the upsampled image never exists in memory."""

from torch import Tensor

from gantune.ops.choose import Form
from gantune.ops.filtered_lrelu.options import FilteredLreluOptions
from gantune.ops.triton.device_facts import find_missing
from gantune.ops.triton.filtered_activation import filter_activation
from gantune.ops.triton.launching import find_refusal


def filtered_lrelu_triton(
    x: Tensor, fu: Tensor | None, fd: Tensor | None, b: Tensor | None, options: FilteredLreluOptions
) -> Tensor:
    """Compute filtered_lrelu in one kernel."""
    result: Tensor = filter_activation(
        x,
        None,
        x.new_ones([1]) if fu is None else fu,
        x.new_ones([1]) if fd is None else fd,
        b,
        options.up,
        options.down,
        list(options.padding),
        options.gain,
        options.slope,
        options.clamp,
        options.flip_filter,
    )
    return result


def _refuse(
    x: Tensor, fu: Tensor | None, fd: Tensor | None, b: Tensor | None, options: FilteredLreluOptions
) -> str | None:
    return find_refusal([x, b], [fu, fd])


FORM = Form(
    name="triton", run=filtered_lrelu_triton, missing=find_missing(), refusal=_refuse, devices=("cuda",)
)
