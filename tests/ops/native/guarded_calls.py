"""Run every native operation with tensors that end, or begin, at a page nobody may touch.

    python guarded_calls.py INSTRUCTION_SET end|start [overrun]

A kernel that reads or writes one number beyond a tensor ends this process with a signal, in the very code
that users run; with `overrun` one is made to.
"""

import ctypes
import mmap
import sys
from collections.abc import Iterator
from math import prod

import torch
from torch import Tensor

from gantune import ops
from gantune.ops import styled_convolution as styled
from gantune.ops.bias_act.native import KINDS
from gantune.ops.modulated_conv2d.native import end_layer
from gantune.ops.native.library import run_pointwise, use_instruction_set
from gantune.ops.native.structures import PointwiseRequest
from gantune.ops.styled_convolution import block, upsampling
from gantune.ops.styled_convolution.native import pack_for

_PAGE = mmap.PAGESIZE
_PROT_NONE = 0
_LIBC = ctypes.CDLL(None, use_errno=True)
_REGIONS: list[mmap.mmap] = []
_EMPTY = torch.empty
SMOOTH = [0.25, 0.5, 0.25]
SHAPES = ((1, 16, 8, 16), (2, 21, 9, 13), (1, 1, 1, 1), (1, 35, 17, 33), (2, 5, 30, 7))


def guard(shape: tuple[int, ...], dtype: torch.dtype, *, channels_last: bool) -> Tensor:
    """Return uninitialised memory between two pages of which none may be read."""
    num_bytes = prod(shape) * dtype.itemsize
    room = -(-max(num_bytes, 1) // _PAGE) * _PAGE
    region = mmap.mmap(-1, room + 2 * _PAGE)
    _REGIONS.append(region)
    address = ctypes.addressof(ctypes.c_char.from_buffer(region))
    for edge in (address, address + _PAGE + room):
        if _LIBC.mprotect(ctypes.c_void_p(edge), _PAGE, _PROT_NONE) != 0:
            raise OSError(ctypes.get_errno(), "mprotect refused")
    offset = _PAGE + (room - num_bytes if AT_END else 0)
    flat = (
        torch.frombuffer(region, dtype=dtype, count=prod(shape), offset=offset)
        if num_bytes
        else _EMPTY(0, dtype=dtype)
    )
    if not channels_last:
        return flat.view(shape)
    N, C, H, W = shape
    return flat.view(N, H, W, C).permute(0, 3, 1, 2)


def normal(*shape: int, dtype: torch.dtype = torch.float32, channels_last: bool = False) -> Tensor:
    tensor = guard(shape, dtype, channels_last=channels_last)
    return tensor.copy_(torch.randn(shape))


def guarded_empty(*size: object, **options: object) -> Tensor:
    shape = tuple(size[0]) if isinstance(size[0], (tuple, list, torch.Size)) else size
    dtype = options.get("dtype", torch.float32)
    channels_last = options.get("memory_format") is torch.channels_last
    return guard(shape, dtype, channels_last=channels_last)  # type: ignore[arg-type]


def guarded_like(tensor: Tensor) -> Tensor:
    channels_last = not tensor.is_contiguous()
    return guard(tuple(tensor.shape), tensor.dtype, channels_last=channels_last)


def call_all(shape: tuple[int, ...], dtype: torch.dtype, *, channels_last: bool) -> Iterator[Tensor]:
    """Call what takes float32 and bfloat16, forward and backward."""
    N, C, H, W = shape

    def draw() -> Tensor:
        return normal(*shape, dtype=dtype, channels_last=channels_last).requires_grad_()

    bias = normal(C)
    f4, f12 = normal(4), normal(12)
    square = normal(3, 4)
    for x, y in (
        *(
            (x, ops.bias_act(x, bias, act=act, clamp=0.7, implementation="native"))
            for act in KINDS
            for x in [draw()]
        ),
        *((x, ops.upfirdn2d(x, f4, up=2, padding=[2, 1, 2, 1], implementation="native")) for x in [draw()]),
        *((x, ops.upfirdn2d(x, f4, down=2, padding=2, implementation="native")) for x in [draw()]),
        *((x, ops.upfirdn2d(x, square, up=3, down=2, padding=3, implementation="native")) for x in [draw()]),
        *(
            (
                x,
                ops.filtered_lrelu(
                    x, f12, f12, bias, up=up, down=2, padding=11, clamp=0.5, implementation="native"
                ),
            )
            for up in (2, 4)
            for x in [draw()]
        ),
    ):
        yield y
        yield torch.autograd.grad(y, x, torch.ones_like(y))[0]
    with torch.inference_mode():
        x = normal(*shape, dtype=dtype, channels_last=channels_last)
        yield end_layer(x, normal(N, C), normal(N, 1, H, W), bias, None)


@torch.inference_mode()
def call_layers(shape: tuple[int, ...], products: str) -> Iterator[Tensor]:
    """Call the operations of whole layers, which take float32."""
    N, C, H, W = shape
    K = C + 3
    x = normal(*shape, channels_last=True)
    weight, phases = torch.randn(K, C, 3, 3), torch.randn(4 * K, C, 2, 2)
    ends = [normal(N, C), normal(N, K), normal(N, 1, H, W), normal(K), normal(K)]
    ends_up = [*ends[:2], normal(N, 1, 2 * H, 2 * W), *ends[3:]]
    packed, packed_up = (
        copy_guarded(pack_for(w, smooth=s, products=products))  # type: ignore[arg-type]
        for w, s in ((weight, None), (phases, SMOOTH))
    )
    plain = torch.ops.gantune.styled_convolution_packed
    yield plain(x, packed, K, ends, 1, None, 2.0, products)
    yield plain(x, packed_up, 4 * K, ends_up, 1, SMOOTH, None, products)
    yield styled.project_pixels(x, normal(N, 3, C), normal(3))
    second = copy_guarded(pack_for(torch.randn(C, K, 3, 3), smooth=None, products=products))  # type: ignore[arg-type]
    first = (packed_up, 4 * K, ends_up, SMOOTH, None)
    ends = [normal(N, K), normal(N, C), normal(N, 1, 2 * H, 2 * W), normal(C), normal(C)]
    rgb = (normal(N, 3, C), normal(3), None, normal(N, 3, 2 * H, 2 * W))
    join = torch.ops.gantune.styled_block
    yield join(x, *first, second, C, ends, None, products, None, None, None, None)
    yield join(x, *first, second, C, ends, None, products, *rgb)


def copy_guarded(tensor: Tensor) -> Tensor:
    return guard(tuple(tensor.shape), tensor.dtype, channels_last=False).copy_(tensor)


def overrun() -> None:
    """Ask the pointwise kernel for one number more than there is."""
    x, y = normal(1, 1, 5, 5), normal(1, 1, 5, 5)
    request = PointwiseRequest(
        x=x.data_ptr(), y=y.data_ptr(), samples=1, channels=1, pixels=26, gain=1.0, clamp=1e9, kind=0
    )  # fmt: skip
    run_pointwise(request, num_threads=1)


def main() -> None:
    torch.manual_seed(0)
    count = 0
    torch.empty, torch.empty_like = guarded_empty, guarded_like  # type: ignore[assignment]
    # So low that every image of more than eight rows takes several bands.
    block.BAND_BYTES = block.PROJECTED_BYTES = upsampling.BAND_BYTES = 1
    with use_instruction_set(sys.argv[1]):
        for shape in SHAPES:
            for dtype in (torch.float32, torch.bfloat16):
                for channels_last in (False, True):
                    for result in call_all(shape, dtype, channels_last=channels_last):
                        assert result.isfinite().all()
                        count += 1
            for products in ("fp32", "bf16", "bf16_large", "bf16_direct"):
                for result in call_layers(shape, products):
                    assert result.isfinite().all()
                    count += 1
        if "overrun" in sys.argv:
            overrun()
    sys.stdout.write(f"{count} calls\n")


AT_END = sys.argv[2] == "end"
main()
