"""filtered_lrelu by its definition: each of its five steps by its own reference."""

import torch.nn.functional as F
from torch import Tensor

from gantune.ops.bias_act.reference import spread_bias
from gantune.ops.choose import Form, never_refuses
from gantune.ops.filtered_lrelu.options import FilteredLreluOptions
from gantune.ops.upfirdn2d.reference import upfirdn2d_reference


def filtered_lrelu_reference(
    x: Tensor, fu: Tensor | None, fd: Tensor | None, b: Tensor | None, options: FilteredLreluOptions
) -> Tensor:
    """Compute filtered_lrelu step by step as its definition says."""
    if b is not None:
        x = x + spread_bias(b, x, 1)
    x = upfirdn2d_reference(x, fu, options.up_options)
    x = F.leaky_relu(x, options.slope) * options.gain
    if options.clamp is not None:
        x = x.clamp(-options.clamp, options.clamp)
    return upfirdn2d_reference(x, fd, options.down_options)


FORM = Form(name="reference", run=filtered_lrelu_reference, missing=None, refusal=never_refuses)
