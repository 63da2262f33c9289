"""What every launch shares: computing dtype, memory layout of results, the right device."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from types import ModuleType
from typing import Protocol, cast

import torch
from torch import Tensor

from gantune.ops.triton.device_facts import is_interpreting

TAKEN_DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


class Kernel(Protocol):
    """A Triton kernel: `kernel[grid](…)` launches it."""

    def __getitem__(self, grid: tuple[int, ...]) -> "Launch": ...


class Launch(Protocol):
    """A kernel with its grid."""

    def __call__(self, *arguments: object, **constants: object) -> object:
        """Launch; the names in capitals become part of the compiled code."""
        ...


def load_kernel(module: str, name: str) -> Kernel:
    """Import a kernel file when its kernel is first needed: only those files import triton."""
    return cast(Kernel, getattr(_import(module), name))


def _import(module: str) -> ModuleType:
    return import_module(f"gantune.ops.triton.{module}")


def find_refusal(tensors: Sequence[Tensor | None], filters: Sequence[Tensor | None] = ()) -> str | None:
    """Return why Triton kernels cannot take these tensors, or None; no filter may need a gradient."""
    for tensor in (*tensors, *filters):
        if tensor is None:
            continue
        if tensor.dtype not in TAKEN_DTYPES:
            return f"its kernels take no {tensor.dtype}"
        if not tensor.is_cuda and not is_interpreting():
            return f"its kernels run on CUDA devices, and a tensor is on {tensor.device.type}"
    if any(f is not None and f.requires_grad for f in filters):
        return "it gives no gradient for a filter, and one requires it"
    return None


def on_device(x: Tensor) -> AbstractContextManager[object]:
    """Make the device of `x` the current one, where Triton launches."""
    return torch.cuda.device(x.device) if x.is_cuda else nullcontext()


def compute_dtype(x: Tensor) -> object:
    """Return Triton's name for what is computed with: float64 for itself, float32 for all others."""
    import triton.language as tl

    return tl.float64 if x.dtype == torch.float64 else tl.float32


def product_precision(x: Tensor) -> str:
    """Choose how a band product multiplies float32 on matrix units.

    Three products in TF32 keep about 21 bits, which float32 results need and float16 results (11 bits) are
    kept well clear of; one product keeps 11 bits, three more than bfloat16 has.
    """
    if x.dtype == torch.float64:
        return "ieee"
    return "tf32" if x.dtype == torch.bfloat16 else "tf32x3"


def is_channels_last(x: Tensor) -> bool:
    """Tell whether channels of `x` [N, C, H, W] lie side by side, as a result should have them too."""
    return x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()


def new_image(x: Tensor, height: int | torch.SymInt, width: int | torch.SymInt) -> Tensor:
    """Return uninitialised memory [N, C, height, width] with dtype, device and layout of `x`."""
    layout = torch.channels_last if is_channels_last(x) else torch.contiguous_format
    return torch.empty(
        (x.shape[0], x.shape[1], height, width), dtype=x.dtype, device=x.device, memory_format=layout
    )
