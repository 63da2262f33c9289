"""Run dense convolutions in bfloat16 or float16; everything else stays float32."""

from typing import Literal

import torch
from torch import Tensor, nn

from gantune.errors import UnsupportedError, UsageError
from gantune.transforms.constant_convolution import ConstantConvolution
from gantune.transforms.module_tree import NetworkT, copy_network, replace_modules
from gantune.transforms.up_convolution import UpConvolution

Dtype = Literal["bf16", "fp16"]
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


class HalfConvolution(nn.Module):
    """Run a convolution in half precision between float32 tensors; its sums are float32 inside the engine."""

    def __init__(self, convolution: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.convolution = convolution.to(dtype)
        self.dtype = dtype

    def forward(self, x: Tensor) -> Tensor:
        """Convolve x in half precision and return float32."""
        y: Tensor = self.convolution(x.to(self.dtype))
        return y.float()


class HalfUpConvolution(UpConvolution):
    """An up-convolution whose dense step runs in half precision; its filter stays float32."""

    def __init__(self, source: UpConvolution, dtype: torch.dtype) -> None:
        super().__init__(*source.original, source.form)
        self.weight = nn.Parameter(self.weight.detach().to(dtype), requires_grad=False)

    def convolve(self, x: Tensor) -> Tensor:
        """Run the dense step in half precision and return float32."""
        return super().convolve(x.to(self.weight.dtype)).float()


def precision(network: NetworkT, dtype: Dtype) -> NetworkT:
    """Return a copy whose dense convolutions run in `dtype`; not exact.

    Filters, demodulation, mapping, sums of images and the output stay float32. Raise `UnsupportedError` where
    the network has no convolution with a constant weight.
    """
    if dtype not in DTYPES:
        raise UsageError(f"There is no precision {dtype!r}; there are: {', '.join(DTYPES)}.")
    copied = copy_network(network)
    assert isinstance(copied, nn.Module)

    def convert(module: nn.Module) -> nn.Module | None:
        if isinstance(module, UpConvolution):
            return HalfUpConvolution(module, DTYPES[dtype])
        is_plain = isinstance(module, nn.Conv2d | nn.ConvTranspose2d) and module.groups == 1
        if is_plain or isinstance(module, ConstantConvolution):
            return HalfConvolution(module, DTYPES[dtype])
        return None

    if not replace_modules(copied, convert):
        raise UnsupportedError(
            "The network has no convolution with a constant weight (where it is a style network, apply "
            "static_modulation first)."
        )
    return copied
