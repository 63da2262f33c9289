"""Whether a GPU multiplies float32 exactly or in TF32, inside a block only."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

import torch

Float32Products: TypeAlias = Literal["ieee", "tf32"]


@contextmanager
def float32_products(precision: Float32Products) -> Iterator[None]:
    """Let matrix products and convolutions of float32 on a GPU be exact ("ieee") or TF32 ("tf32").

    Left alone, torch takes TF32, with 11 bits, for convolutions and not for products.
    """
    matmul, convolution = torch.backends.cuda.matmul, torch.backends.cudnn.conv  # type: ignore[attr-defined]
    before = matmul.fp32_precision, convolution.fp32_precision
    matmul.fp32_precision = convolution.fp32_precision = precision
    try:
        yield
    finally:
        matmul.fp32_precision, convolution.fp32_precision = before
