"""bias_act on a GPU: one pass over memory by a Triton kernel, derivatives likewise."""

from torch import Tensor

from gantune.ops.bias_act.options import BiasActOptions
from gantune.ops.choose import Form
from gantune.ops.triton.activation import activate
from gantune.ops.triton.device_facts import find_missing
from gantune.ops.triton.launching import find_refusal


def bias_act_triton(x: Tensor, b: Tensor | None, options: BiasActOptions) -> Tensor:
    """Compute bias_act in one kernel."""
    act, alpha, gain, clamp = options.act, options.alpha, options.gain, options.clamp
    result: Tensor = activate(x, None, None, b, options.dim, act, alpha, gain, clamp)
    return result


def _refuse(x: Tensor, b: Tensor | None, options: BiasActOptions) -> str | None:
    return find_refusal([x, b])


FORM = Form(name="triton", run=bias_act_triton, missing=find_missing(), refusal=_refuse, devices=("cuda",))
