"""Two styled convolutions in one, and the projection to an image behind them: a block of a StyleGAN2.

The first doubles the size, and only the second reads it. It is computed in bands of rows, so that it is never
in memory as a whole; nor is the second's result where only its projection is wanted. At 1024² these are the
two largest tensors of the network.
"""

from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor

from gantune.ops.native.library import run_projection, run_winograd
from gantune.ops.native.operators import native_operator
from gantune.ops.native.result_arena import empty_channels_last
from gantune.ops.native.structures import ProjectionRequest, WinogradRequest, address
from gantune.ops.styled_convolution import upsampling
from gantune.ops.styled_convolution.forms import Form
from gantune.ops.styled_convolution.native import check_packed, form_of
from gantune.ops.styled_convolution.upsampling import After

# The first layer's rows of a band take this at most.
BAND_BYTES = 8 << 20
# The second layer's rows of a band that are projected while they are in the cache.
PROJECTED_BYTES = 2 << 20
# The sizes of a tile of the second layer, 2 and 4, divide it; a band keeps so many rows for the next.
_TILE_ROWS = 4


@dataclass(frozen=True)
class _Layer:
    """One layer's packed weight and what is done around the convolution, ready for the kernels."""

    packed: Tensor
    K: int
    form: Form
    styles: Tensor | None
    scale: Tensor | None
    noise: Tensor | None
    bias: Tensor | None
    slope: Tensor | None
    clamp: float | None

    def after(self, n: int) -> After:
        """Describe the end of the layer for sample `n`."""
        return {
            "scale_out": _of_sample(self.scale, n),
            "bias": address(self.bias),
            "slope": address(self.slope),
            "noise": _of_sample(self.noise, n),
            "noise_stride": 0,
            "clamp": inf if self.clamp is None else self.clamp,
        }


@dataclass(frozen=True)
class _Projection:
    """The projection of the second layer's result, and the image that is added to it."""

    weight: Tensor
    bias: Tensor
    clamp: float | None
    image: Tensor | None


@native_operator("styled_block")
def _run(
    x: Tensor,
    packed: Tensor,
    rows: int,
    scale_in: Tensor | None,
    scale_out: Tensor | None,
    noise: Tensor | None,
    bias: Tensor | None,
    slope: Tensor | None,
    smooth: list[float],
    clamp: float | None,
    second_packed: Tensor,
    second_rows: int,
    second_scale_in: Tensor | None,
    second_scale_out: Tensor | None,
    second_noise: Tensor | None,
    second_bias: Tensor | None,
    second_slope: Tensor | None,
    second_clamp: float | None,
    products: str,
    projection: Tensor | None,
    projection_bias: Tensor | None,
    projection_clamp: float | None,
    image: Tensor | None,
) -> Tensor:
    first = _Layer(
        packed=packed,
        K=rows // 4,
        form=form_of(products, smooth),
        styles=_dense(scale_in),
        scale=_dense(scale_out),
        noise=_dense(noise),
        bias=_dense(bias),
        slope=_dense(slope),
        clamp=clamp,
    )
    second = _Layer(
        packed=second_packed,
        K=second_rows,
        form=form_of(products, None),
        styles=_dense(second_scale_in),
        scale=_dense(second_scale_out),
        noise=_dense(second_noise),
        bias=_dense(second_bias),
        slope=_dense(second_slope),
        clamp=second_clamp,
    )
    for layer in (first, second):
        check_packed(layer.packed, layer.form)
    x = x.contiguous(memory_format=torch.channels_last)
    if projection is None:
        y = empty_channels_last((x.shape[0], second.K, 2 * x.shape[2], 2 * x.shape[3]), x.dtype)
        _Block(x, y, first, second, tuple(smooth), None).run()
        return y
    assert projection_bias is not None
    y = torch.empty((x.shape[0], projection.shape[1], 2 * x.shape[2], 2 * x.shape[3]), dtype=x.dtype)
    # The kernel adds an image of the result's shape; another is spread over the result in the end.
    added = _dense(image) if image is not None and image.shape == y.shape else None
    end = _Projection(projection.contiguous(), projection_bias.contiguous(), projection_clamp, added)
    _Block(x, y, first, second, tuple(smooth), end).run()
    return y if image is None or added is not None else y + image


class _Block:
    """Fill `y`, [N, K, 2H, 2W] channels-last or, projected, [N, O, 2H, 2W] planar."""

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        first: _Layer,
        second: _Layer,
        smooth: tuple[float, ...],
        end: _Projection | None,
    ) -> None:
        self._x, self._y, self._first, self._second, self._smooth, self._end = (
            x,
            y,
            first,
            second,
            smooth,
            end,
        )
        (H, W), dtype = x.shape[2:], x.dtype
        self._height, self._width = 2 * H, 2 * W
        tiles = BAND_BYTES // (_TILE_ROWS * self._row_bytes(first))
        self._step = min(max(tiles, 2) * _TILE_ROWS, self._height)
        self._phases = upsampling.empty_phases(1, first.K, H, W, first.form, most_rows=self._step // 2 + 1)
        # The second layer reads one row beyond each edge of a band.
        self._between = empty_channels_last(
            (1, first.K, min(self._step + _TILE_ROWS, self._height), self._width), dtype
        )
        self._projected_step = self._step
        self._projected = None
        if end is not None:
            tile_bytes = _TILE_ROWS * self._row_bytes(second)
            self._projected_step = min(max(PROJECTED_BYTES // tile_bytes, 1) * _TILE_ROWS, self._height)
            self._projected = torch.empty((self._projected_step, self._width, second.K), dtype=dtype)

    def run(self) -> None:
        for n in range(self._x.shape[0]):
            made = base = 0
            for begin in range(0, self._height, self._step):
                end = min(begin + self._step, self._height)
                base = self._hand_on(base, made, begin)
                made = self._continue_first(n, base, made, min(end + 2, self._height))
                self._run_second(n, base, begin, end)

    def _row_bytes(self, layer: _Layer) -> int:
        return self._width * layer.K * self._x.element_size()

    def _hand_on(self, base: int, made: int, begin: int) -> int:
        """Move the rows that the next band reads to the top; return which row lies there."""
        if begin == 0:
            return 0
        kept = begin - 2
        rows = self._between.permute(0, 2, 3, 1)
        rows[:, : made - kept].copy_(rows[:, kept - base : made - base])
        return kept

    def _continue_first(self, n: int, base: int, made: int, end: int) -> int:
        layer = self._first
        if end > made:
            upsampling.upsample_band(
                self._x[n : n + 1],
                self._between.data_ptr() - base * self._row_bytes(layer),
                layer.packed,
                layer.form,
                None if layer.styles is None else layer.styles[n:],
                self._smooth,
                layer.after(n),
                self._phases,
                K=layer.K,
                rows=(made // 2, end // 2),
            )
        return end

    def _run_second(self, n: int, base: int, begin: int, end: int) -> None:
        if self._projected is None:
            self._convolve(n, base, (begin, end), self._y[n].data_ptr())
            return
        for first in range(begin, end, self._projected_step):
            last = min(first + self._projected_step, end)
            # Where the result's row 0 would lie.
            y = self._projected.data_ptr() - first * self._row_bytes(self._second)
            self._convolve(n, base, (first, last), y)
            self._project(n, first, last)

    def _convolve(self, n: int, base: int, rows: tuple[int, int], y: int) -> None:
        first, layer = self._first, self._second
        request = WinogradRequest(
            x=self._between.data_ptr() - base * self._row_bytes(first),
            y=y,
            weight=layer.packed.data_ptr(),
            scale_in=_of_sample(layer.styles, n),
            N=1,
            C=first.K,
            K=layer.K,
            H=self._height,
            W=self._width,
            out_h=rows[1],
            out_w=self._width,
            first_row=rows[0],
            form=layer.form.number,
            padding=1,
            **layer.after(n),
        )
        run_winograd(request, most_tiles=layer.form.most_tiles, num_threads=torch.get_num_threads())

    def _project(self, n: int, first: int, last: int) -> None:
        assert self._projected is not None
        assert self._end is not None
        end = self._end
        request = ProjectionRequest(
            x=self._projected.data_ptr(),
            y=self._y[n, :, first].data_ptr(),
            image=None if end.image is None else end.image[n, :, first].data_ptr(),
            weight=_of_sample(end.weight, n),
            bias=address(end.bias),
            N=1,
            C=self._second.K,
            O=self._y.shape[1],
            H=last - first,
            W=self._width,
            plane=self._height * self._width,
            clamp=inf if end.clamp is None else end.clamp,
        )
        run_projection(request, num_threads=torch.get_num_threads())


def _dense(values: Tensor | None) -> Tensor | None:
    return None if values is None else values.contiguous()


def _of_sample(values: Tensor | None, n: int) -> int | None:
    """Return where sample `n` of [N or 1, …] lies."""
    return None if values is None else values[n if values.shape[0] > 1 else 0].data_ptr()


@_run.register_fake
def _(
    x: Tensor,
    packed: Tensor,
    rows: int,
    scale_in: Tensor | None,
    scale_out: Tensor | None,
    noise: Tensor | None,
    bias: Tensor | None,
    slope: Tensor | None,
    smooth: list[float],
    clamp: float | None,
    second_packed: Tensor,
    second_rows: int,
    second_scale_in: Tensor | None,
    second_scale_out: Tensor | None,
    second_noise: Tensor | None,
    second_bias: Tensor | None,
    second_slope: Tensor | None,
    second_clamp: float | None,
    products: str,
    projection: Tensor | None,
    projection_bias: Tensor | None,
    projection_clamp: float | None,
    image: Tensor | None,
) -> Tensor:
    N, _, H, W = x.shape
    if projection is None:
        y = x.new_empty((N, second_rows, 2 * H, 2 * W))
        return y.contiguous(memory_format=torch.channels_last)
    y = x.new_empty((N, projection.shape[1], 2 * H, 2 * W))
    return y if image is None else y + image
