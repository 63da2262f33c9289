"""Products of a large matrix with few vectors: the fully connected layers of mapping and styles.

What they take is the time to read the matrix; torch reads it on one core.
"""

from math import gcd, inf

import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.ops.native.library import run_projection
from gantune.ops.native.operators import native_operator
from gantune.ops.native.structures import ProjectionRequest, address

# From this size on (measured); smaller matrices lie in a core's own cache.
SMALLEST_BYTES = 1 << 18
# For more vectors the matrix is read once by torch, and for each of them here.
MOST_VECTORS = 2
# Results that one thread computes at a time.
_PIECE = 64
_SMALLEST_PIECE = 8


@native_operator("matrix_vector")
def _run(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    (N, C), K = x.shape, weight.shape[0]
    piece = gcd(K, _PIECE)
    if N > MOST_VECTORS or piece < _SMALLEST_PIECE:
        return F.linear(x, weight, bias)
    x, weight = x.contiguous(), weight.contiguous()
    bias = None if bias is None else bias.contiguous()
    nothing = torch.zeros(1)
    y = torch.empty((N, K), dtype=x.dtype)
    for n in range(N):
        # The matrix's rows are the pixels of an image, and the vector is what they are projected by.
        request = ProjectionRequest(
            x=weight.data_ptr(),
            y=y[n].data_ptr(),
            image=address(bias),
            weight=x[n].data_ptr(),
            bias=nothing.data_ptr(),
            N=1,
            C=C,
            O=1,
            H=K // piece,
            W=piece,
            plane=K,
            clamp=inf,
        )
        run_projection(request, num_threads=torch.get_num_threads())
    return y


@_run.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return x.new_empty((x.shape[0], weight.shape[0]))
