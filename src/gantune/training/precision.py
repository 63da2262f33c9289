"""Run dense convolutions in bfloat16 or float16 and everything else in float32.

What must stay float32 stays so by itself: the mapping network, styles and demodulation, filters,
activations, the sum of the toRGB images, the first layer of the discriminator, logits and losses. Only
convolutions between feature maps are cast, their inputs down and their results up; so are their gradients.
A bias is added in float32.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

Precision = Literal["fp32", "bf16", "fp16"]
_MOST_IMAGE_CHANNELS = 4
_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
_CONVOLUTIONS = (F.conv2d, F.conv_transpose2d)


@contextmanager
def use_precision(precision: Precision) -> Iterator[None]:
    """Let dense convolutions run in `precision` until the `with` block ends; backward follows forward."""
    if precision == "fp32":
        yield
        return
    with _DenseConvolutions(_DTYPES[precision]):
        yield


class _DenseConvolutions(TorchFunctionMode):
    """Cast the tensors of convolutions between feature maps to `dtype` and the result back."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        kwargs = dict(kwargs or {})
        if func not in _CONVOLUTIONS or not _is_dense(args, kwargs):
            return func(*args, **kwargs)
        x, weight, *rest = args
        bias = rest[0] if rest else kwargs.pop("bias", None)
        result = func(x.to(self.dtype), weight.to(self.dtype), None, *rest[1:], **kwargs)
        assert isinstance(result, torch.Tensor)
        result = result.to(x.dtype)
        return result if bias is None else result + bias[:, None, None]


def _is_dense(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    if len(args) < 2 or args[0].dtype != torch.float32:
        return False
    weight = args[1]
    is_depthwise = kwargs.get("groups", 1) != 1 or len(args) > 6
    return not is_depthwise and min(weight.shape[0], weight.shape[1]) > _MOST_IMAGE_CHANNELS
