"""modulated_conv2d: a convolution whose weight each sample scales by its style (StyleGAN2, StyleGAN3).

    w[n, k, c, i, j] = weight[k, c, i, j] · styles[n, c]
    w'[n, k] = w[n, k] · rsqrt(Σ_{c,i,j} w[n, k, c, i, j]² + 1e-8)      where demodulating, else w
    result[n] = resampled_convolution(x[n], w'[n]) + noise

The scale of the input by `styles` and of the output by the rsqrt give the same with one constant weight.
Source: Karras et al., "Analyzing and Improving the Image Quality of StyleGAN", 2020, section 2.2.
"""

from collections.abc import Sequence

from torch import Tensor

from gantune.errors import UsageError
from gantune.ops.choose import Operation
from gantune.ops.modulated_conv2d import native, portable, reference, triton
from gantune.ops.modulated_conv2d.options import ModulatedConv2dOptions
from gantune.ops.padding import parse_padding
from gantune.ops.resampled_convolution import ConvolutionOptions
from gantune.ops.resampling_filter import check_filter

OPERATION: Operation[Tensor, Tensor, Tensor | None, Tensor | None, ModulatedConv2dOptions] = Operation(
    "modulated_conv2d",
    forms=(
        native.FORM,
        triton.FORM,
        portable.FORM,
        reference.FORM,
    ),
)


def modulated_conv2d(
    x: Tensor,
    weight: Tensor,
    styles: Tensor,
    noise: Tensor | None = None,
    up: int = 1,
    down: int = 1,
    padding: int | Sequence[int] = 0,
    resample_filter: Tensor | None = None,
    demodulate: bool = True,
    flip_weight: bool = True,
    fused_modconv: bool = True,
    *,
    implementation: str | None = None,
) -> Tensor:
    """Convolve `x` [N, C, H, W] with `weight` [K, C, kh, kw] scaled by `styles` [N, C], and add `noise`.

    `noise` broadcasts to the result; `padding` is on the upsampled image; `flip_weight=True` is correlation,
    torch's own; `fused_modconv` asks the reference form for one grouped convolution over the batch. Raises
    UsageError where shapes do not fit.
    """
    _check_shapes(x, weight, styles)
    check_filter(resample_filter)
    options = ModulatedConv2dOptions(
        ConvolutionOptions(up, down, parse_padding(padding), flip_weight=flip_weight),
        demodulate=demodulate,
        fused_modconv=fused_modconv,
    )
    return OPERATION.run(implementation, x, weight, styles, noise, resample_filter, options)


def _check_shapes(x: Tensor, weight: Tensor, styles: Tensor) -> None:
    if x.ndim != 4 or weight.ndim != 4 or styles.ndim != 2:
        raise UsageError(
            "modulated_conv2d takes x [N, C, H, W], weight [K, C, kh, kw] and styles [N, C], found "
            f"{x.ndim}, {weight.ndim} and {styles.ndim} dimensions"
        )
    if not x.shape[1] == weight.shape[1] == styles.shape[1]:
        raise UsageError(
            "x, weight and styles differ in input channels: "
            f"{x.shape[1]}, {weight.shape[1]} and {styles.shape[1]}"
        )
    if x.shape[0] != styles.shape[0]:
        raise UsageError(
            f"one style a sample is needed, found {x.shape[0]} samples and {styles.shape[0]} styles"
        )
