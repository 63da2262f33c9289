"""Projection of every pixel to few channels, by a weight of each sample's own: a toRGB layer.

y[n, o, h, w] = clamp(Σ_c x[n, c, h, w] · weight[n, o, c] + bias[o])
"""

from math import inf
from typing import cast

import torch
from torch import Tensor

from gantune.ops.native.library import run_projection
from gantune.ops.native.operators import native_operator
from gantune.ops.native.result_arena import empty_contiguous
from gantune.ops.native.structures import ProjectionRequest


def project_pixels(x: Tensor, weight: Tensor, bias: Tensor, clamp: float | None = None) -> Tensor:
    """Return [N, O, H, W], planar, for `x` [N, C, H, W], `weight` [N, O, C], `bias` [O]; float32 on a CPU."""
    return cast(Tensor, torch.ops.gantune.project_pixels(x, weight, bias, clamp))


def project_pixels_reference(x: Tensor, weight: Tensor, bias: Tensor, clamp: float | None = None) -> Tensor:
    """Compute the definition in plain torch."""
    y = torch.einsum("nchw,noc->nohw", x, weight) + bias[:, None, None]
    return y if clamp is None else y.clamp(-clamp, clamp)


@native_operator("project_pixels")
def _run(x: Tensor, weight: Tensor, bias: Tensor, clamp: float | None) -> Tensor:
    x = x.contiguous(memory_format=torch.channels_last)
    weight, bias = weight.contiguous(), bias.contiguous()
    N, C, H, W = x.shape
    y = empty_contiguous((N, weight.shape[1], H, W), x.dtype)
    request = ProjectionRequest(
        x=x.data_ptr(),
        y=y.data_ptr(),
        weight=weight.data_ptr(),
        bias=bias.data_ptr(),
        N=N,
        C=C,
        O=weight.shape[1],
        H=H,
        W=W,
        plane=H * W,
        clamp=inf if clamp is None else clamp,
    )
    run_projection(request, num_threads=torch.get_num_threads())
    return y


@_run.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor, clamp: float | None) -> Tensor:
    return x.new_empty(x.shape[0], weight.shape[1], x.shape[2], x.shape[3])
