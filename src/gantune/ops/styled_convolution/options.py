"""What stands around the convolution in one layer of a generator."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

Products = Literal["fp32", "bf16", "bf16_large", "bf16_direct"]


@dataclass(frozen=True)
class StyledOptions:
    """Hold scales, noise, bias, activation and geometry; None leaves a step out.

    `scale_in` [N, C], `scale_out` [N, K], `noise` [N or 1, 1, H, W], `bias` and `slope` [K] (of a leaky
    ReLU). `padding` is the convolution's; `smooth` holds the three taps of an up-sampling layer instead.
    `products` "bf16" multiplies in bfloat16 with float32 sums; "bf16_large" does so with larger tiles, which
    is faster and 11 dB less exact; "bf16_direct" does so without the Winograd method, 4 dB more exactly, and
    faster where the weights are larger than the image.
    """

    scale_in: Tensor | None = None
    scale_out: Tensor | None = None
    noise: Tensor | None = None
    bias: Tensor | None = None
    slope: Tensor | None = None
    padding: int = 1
    smooth: list[float] | None = None
    clamp: float | None = None
    products: Products = "fp32"

    @property
    def around(self) -> list[Tensor | None]:
        """List the tensors that stand around the convolution, as the operators take them."""
        return [self.scale_in, self.scale_out, self.noise, self.bias, self.slope]
