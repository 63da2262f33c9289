"""An up-sampling layer in bands of rows: the phases of one band exist at a time, and stay in the cache."""

from math import inf
from typing import TypedDict

import torch
from torch import Tensor

from gantune.ops.native.library import run_smooth, run_winograd
from gantune.ops.native.result_arena import empty_channels_last
from gantune.ops.native.structures import SmoothRequest, WinogradRequest, address
from gantune.ops.styled_convolution.forms import Form

# Phases of one band take this at most, or those of four input rows.
BAND_BYTES = 16 << 20
_SMALLEST_BAND = 4


class After(TypedDict):
    """What the kernels do behind the convolution; addresses, None where a step is left out."""

    scale_out: int | None
    bias: int | None
    slope: int | None
    noise: int | None
    noise_stride: int
    clamp: float


def upsample_in_bands(
    x: Tensor,
    y: Tensor,
    packed: Tensor,
    form: Form,
    styles: Tensor | None,
    smooth: tuple[float, ...],
    after: After,
) -> None:
    """Fill `y` [N, K, 2H, 2W] from `x` [N, C, H, W], both channels-last."""
    (N, K), (H, W) = y.shape[:2], x.shape[2:]
    row_bytes = K * 2 * (2 * W + 2) * _dtype(form).itemsize
    samples, step = [(0, N)], H
    if N * H * row_bytes > BAND_BYTES:
        samples = [(n, 1) for n in range(N)]
    if H * row_bytes > BAND_BYTES:  # a sample's bands never depend on the others
        step = max(BAND_BYTES // row_bytes, _SMALLEST_BAND)
    phases = empty_phases(samples[0][1], K, H, W, form, most_rows=step)
    for n, count in samples:
        one = None if styles is None else styles[n:]
        moved = skip_samples(after, n, K)
        for begin in range(0, H, step):
            upsample_band(
                x[n : n + count],
                y[n].data_ptr(),
                packed,
                form,
                one,
                smooth,
                moved,
                phases,
                K=K,
                rows=(begin, min(begin + step, H)),
            )


def _dtype(form: Form) -> torch.dtype:
    return torch.bfloat16 if form.is_half else torch.float32


def empty_phases(N: int, K: int, H: int, W: int, form: Form, *, most_rows: int) -> Tensor:
    """Return room for the phases of a band of at most `most_rows` of `H` input rows."""
    # A band reads one row of the input beyond each of its inner edges.
    rows = min(most_rows + (1 if 2 * most_rows >= H else 2), H)
    return empty_channels_last((N, K, 2 * rows + 2, 2 * W + 2), _dtype(form))


def skip_samples(after: After, n: int, K: int) -> After:
    """Move the addresses on by `n` samples of float32."""
    scale, noise = after["scale_out"], after["noise"]
    moved: After = {
        **after,
        "scale_out": None if scale is None else scale + 4 * n * K,
        "noise": None if noise is None else noise + 4 * n * after["noise_stride"],
    }
    return moved


def upsample_band(
    x: Tensor,
    y: int,
    packed: Tensor,
    form: Form,
    styles: Tensor | None,
    smooth: tuple[float, ...],
    after: After,
    phases: Tensor,
    *,
    K: int,
    rows: tuple[int, int],
) -> None:
    """Write the rows of the result that come from input rows begin … end, with `phases` for room.

    `y` is the address of the result's row 0, which need not exist itself.
    """
    N, C, H, W = x.shape
    begin, end = rows
    top, bottom = max(begin - 1, 0), min(end + 1, H)
    convolution = WinogradRequest(
        x=x.data_ptr() + top * W * C * x.element_size(),
        y=phases.data_ptr(),
        weight=packed.data_ptr(),
        scale_in=address(styles),
        N=N,
        C=C,
        K=K,
        H=bottom - top,
        W=W,
        out_h=2 * (bottom - top) + 2,
        out_w=2 * W + 2,
        form=form.number,
        padding=1,
        clamp=inf,
    )
    num_threads = torch.get_num_threads()
    run_winograd(convolution, most_tiles=form.most_tiles, num_threads=num_threads)
    first = 2 * begin * 2 * W  # the position in the result of the band's first pixel
    # The row of phases above an inner edge saw zeros instead of the row before it, and is passed over.
    skipped = 2 * (begin - top) * (2 * W + 2) * K
    noise = after["noise"]
    filter_rows = SmoothRequest(
        is_half=form.is_half,
        x=phases.data_ptr() + skipped * phases.element_size(),
        y=y + first * K * x.element_size(),
        N=N,
        K=K,
        H=2 * (end - begin),
        W=2 * W,
        taps=smooth,
        **{**after, "noise": None if noise is None else noise + first * 4},
    )
    run_smooth(filter_rows, num_threads=num_threads)
