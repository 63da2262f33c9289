"""Two styled convolutions in one, and the projection to an image behind them: a block of a StyleGAN2.

The first doubles the size, and only the second reads it. It is computed in bands of rows, so that it is never
in memory as a whole; nor is the second's result where only its projection is wanted. At 1024² these are the
two largest tensors of the network.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor

from gantune.ops.native.library import run_projection, run_winograd
from gantune.ops.native.operators import native_operator
from gantune.ops.native.result_arena import empty_channels_last
from gantune.ops.native.structures import ProjectionRequest, WinogradRequest, address
from gantune.ops.styled_convolution import upsampling
from gantune.ops.styled_convolution.layer import Layer, address_of_sample, make_layer

# The first layer's rows of a band take this at most.
BAND_BYTES = 8 << 20
# The second layer's rows of a band that are projected while they are in the cache.
PROJECTED_BYTES = 2 << 20
# The sizes of a tile of the second layer, 2 and 4, divide it; a band keeps so many rows for the next.
_TILE_ROWS = 4


@dataclass(frozen=True)
class _Projection:
    """The projection of the second layer's result, and the image that is added to it.

    `weight` is [N, O, K] for K channels of the layer, `bias` [O], `image` [N, O, 2H, 2W].
    """

    weight: Tensor
    bias: Tensor
    clamp: float | None
    image: Tensor | None


@native_operator("styled_block")
def _run(
    x: Tensor,
    packed: Tensor,
    rows: int,
    around: Sequence[Tensor | None],
    smooth: Sequence[float],
    clamp: float | None,
    second_packed: Tensor,
    second_rows: int,
    second_around: Sequence[Tensor | None],
    second_clamp: float | None,
    products: str,
    projection: Tensor | None,
    projection_bias: Tensor | None,
    projection_clamp: float | None,
    image: Tensor | None,
) -> Tensor:
    first = make_layer(packed, rows, around, smooth, clamp, products)
    second = make_layer(second_packed, second_rows, second_around, None, second_clamp, products)
    x = x.contiguous(memory_format=torch.channels_last)
    if projection is None:
        y = empty_channels_last((x.shape[0], second.K, 2 * x.shape[2], 2 * x.shape[3]), x.dtype)
        _Block(x, y, first, second, smooth, None).run()
        return y
    assert projection_bias is not None
    y = torch.empty((x.shape[0], projection.shape[1], 2 * x.shape[2], 2 * x.shape[3]), dtype=x.dtype)
    # The kernel adds an image of the result's shape; another is spread over the result in the end.
    added = image.contiguous() if image is not None and image.shape == y.shape else None
    end = _Projection(projection.contiguous(), projection_bias.contiguous(), projection_clamp, added)
    _Block(x, y, first, second, smooth, end).run()
    return y if image is None or added is not None else y + image


class _Block:
    """Fill `y`, [N, K, 2H, 2W] channels-last or, projected, [N, O, 2H, 2W] planar, from `x` [N, C, H, W]."""

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        first: Layer,
        second: Layer,
        smooth: Sequence[float],
        end: _Projection | None,
    ) -> None:
        self._x, self._y, self._end = x, y, end
        self._first, self._second, self._smooth = first, second, smooth
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

    def _row_bytes(self, layer: Layer) -> int:
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
                layer,
                self._smooth,
                self._phases,
                sample=n,
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
            scale_in=layer.scale_in(n),
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
            weight=address_of_sample(end.weight, n),
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


@_run.register_fake
def _(
    x: Tensor,
    packed: Tensor,
    rows: int,
    around: Sequence[Tensor | None],
    smooth: Sequence[float],
    clamp: float | None,
    second_packed: Tensor,
    second_rows: int,
    second_around: Sequence[Tensor | None],
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
