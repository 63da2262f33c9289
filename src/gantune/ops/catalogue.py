"""The operations and, through them, all their forms."""

from gantune.ops.bias_act import OPERATION as BIAS_ACT
from gantune.ops.choose import FormStatus
from gantune.ops.filtered_lrelu import OPERATION as FILTERED_LRELU
from gantune.ops.modulated_conv2d import OPERATION as MODULATED_CONV2D
from gantune.ops.native.library import missing_reason
from gantune.ops.upfirdn2d import OPERATION as UPFIRDN2D

OPERATIONS = (
    UPFIRDN2D,
    BIAS_ACT,
    FILTERED_LRELU,
    MODULATED_CONV2D,
)


def form_statuses() -> tuple[FormStatus, ...]:
    """Tell for each form of each operation whether it can run on this machine, and if not why.

    The styled convolution of fused artifacts has no choice of forms, and so stands beside the operations.
    """
    styled = FormStatus("styled_convolution", "native", missing_reason(), is_twice_differentiable=False)
    return (*(status for operation in OPERATIONS for status in operation.statuses()), styled)
