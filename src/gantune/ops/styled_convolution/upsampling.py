"""An up-sampling layer in bands of rows: the phases of one band exist at a time, and stay in the cache."""

from collections.abc import Sequence
from math import inf

import torch
from torch import Tensor

from gantune.ops.native.library import run_smooth, run_winograd
from gantune.ops.native.result_arena import empty_channels_last
from gantune.ops.native.structures import SmoothRequest, WinogradRequest
from gantune.ops.styled_convolution.forms import Form
from gantune.ops.styled_convolution.layer import Layer

# Phases of one band take this at most, or those of four input rows.
BAND_BYTES = 16 << 20
_SMALLEST_BAND = 4


def upsample_in_bands(x: Tensor, y: Tensor, layer: Layer, smooth: Sequence[float]) -> None:
    """Fill `y` [N, K, 2H, 2W] from `x` [N, C, H, W], both channels-last."""
    N, (H, W) = x.shape[0], x.shape[2:]
    row_bytes = layer.K * 2 * (2 * W + 2) * _dtype(layer.form).itemsize
    num_samples, step = N, H
    if N * H * row_bytes > BAND_BYTES:
        num_samples = 1
    if H * row_bytes > BAND_BYTES:  # a sample's bands never depend on the others
        step = max(BAND_BYTES // row_bytes, _SMALLEST_BAND)
    phases = empty_phases(num_samples, layer.K, H, W, layer.form, most_rows=step)
    for sample in range(0, N, num_samples):
        for begin in range(0, H, step):
            upsample_band(
                x[sample : sample + num_samples],
                y[sample].data_ptr(),
                layer,
                smooth,
                phases,
                sample=sample,
                rows=(begin, min(begin + step, H)),
            )


def _dtype(form: Form) -> torch.dtype:
    return torch.bfloat16 if form.is_half else torch.float32


def empty_phases(N: int, K: int, H: int, W: int, form: Form, *, most_rows: int) -> Tensor:
    """Return room for the phases of a band of at most `most_rows` of `H` input rows."""
    # A band reads one row of the input beyond each of its inner edges.
    rows = min(most_rows + (1 if 2 * most_rows >= H else 2), H)
    return empty_channels_last((N, K, 2 * rows + 2, 2 * W + 2), _dtype(form))


def upsample_band(
    x: Tensor,
    y: int,
    layer: Layer,
    smooth: Sequence[float],
    phases: Tensor,
    *,
    sample: int,
    rows: tuple[int, int],
) -> None:
    """Write the rows of the result that come from input rows begin … end, with `phases` for room.

    `x` holds the samples from `sample` on. `y` is the address of the first one's row 0, which need not exist
    itself.
    """
    N, C, H, W = x.shape
    begin, end = rows
    top, bottom = max(begin - 1, 0), min(end + 1, H)
    convolution = WinogradRequest(
        x=x.data_ptr() + top * W * C * x.element_size(),
        y=phases.data_ptr(),
        weight=layer.packed.data_ptr(),
        scale_in=layer.scale_in(sample),
        N=N,
        C=C,
        K=layer.K,
        H=bottom - top,
        W=W,
        out_h=2 * (bottom - top) + 2,
        out_w=2 * W + 2,
        form=layer.form.number,
        padding=1,
        clamp=inf,
    )
    num_threads = torch.get_num_threads()
    run_winograd(convolution, most_tiles=layer.form.most_tiles, num_threads=num_threads)
    first = 2 * begin * 2 * W  # the position in the result of the band's first pixel
    # The row of phases above an inner edge saw zeros instead of the row before it, and is passed over.
    skipped = 2 * (begin - top) * (2 * W + 2) * layer.K
    after = layer.after(sample)
    noise = after["noise"]
    filter_rows = SmoothRequest(
        is_half=layer.form.is_half,
        x=phases.data_ptr() + skipped * phases.element_size(),
        y=y + first * layer.K * x.element_size(),
        N=N,
        K=layer.K,
        H=2 * (end - begin),
        W=2 * W,
        taps=tuple(smooth),
        **{**after, "noise": None if noise is None else noise + first * 4},
    )
    run_smooth(filter_rows, num_threads=num_threads)
