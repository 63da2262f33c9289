"""The Winograd forms of a convolution, and how weights are packed for them.

Convolving by F(m, r) multiplies m + r − 1 numbers for m results of r taps, in a domain of polynomials taken
at as many points (Lavin and Gray, arXiv 1509.09308).
"""

from dataclasses import dataclass
from math import prod

import torch
import torch.nn.functional as F
from torch import Tensor

# ±3/4 and ±3/2 lose 1.6 times what a direct convolution loses in float32; the usual ±1 and ±2 lose 4.5 times
# (measured; the idea is in Barabasz et al., arXiv 1803.10986).
_SIX_POINTS = (0.0, 0.75, -0.75, 1.5, -1.5)
_FOUR_POINTS = (0.0, 1.0, -1.0)


@dataclass(frozen=True)
class Form:
    """One form: its number in the C interface, points, taps, phases, and tiles a block (measured).

    A form without points is a direct convolution.
    """

    number: int
    points: tuple[float, ...]
    taps: int
    num_phases: int
    is_half: bool
    most_tiles: int


CONVOLVE = Form(0, _SIX_POINTS, taps=3, num_phases=1, is_half=False, most_tiles=24)
CONVOLVE_HALF = Form(1, _FOUR_POINTS, taps=3, num_phases=1, is_half=True, most_tiles=48)
UPSAMPLE = Form(2, _SIX_POINTS, taps=2, num_phases=4, is_half=False, most_tiles=24)
UPSAMPLE_HALF = Form(3, _FOUR_POINTS, taps=2, num_phases=4, is_half=True, most_tiles=48)
CONVOLVE_HALF_LARGE = Form(4, _SIX_POINTS, taps=3, num_phases=1, is_half=True, most_tiles=24)
UPSAMPLE_HALF_LARGE = Form(5, _SIX_POINTS, taps=2, num_phases=4, is_half=True, most_tiles=24)
CONVOLVE_HALF_DIRECT = Form(6, (), taps=3, num_phases=1, is_half=True, most_tiles=48)
UPSAMPLE_HALF_DIRECT = Form(7, (), taps=2, num_phases=4, is_half=True, most_tiles=48)

# How products are computed → (forms of a convolution, of an up-sampling layer).
FORMS: dict[str, tuple[Form, Form]] = {
    "fp32": (CONVOLVE, UPSAMPLE),
    "bf16": (CONVOLVE_HALF, UPSAMPLE_HALF),
    "bf16_large": (CONVOLVE_HALF_LARGE, UPSAMPLE_HALF_LARGE),
    "bf16_direct": (CONVOLVE_HALF_DIRECT, UPSAMPLE_HALF_DIRECT),
}


def pack_weight(weight: Tensor, form: Form, *, lanes: int) -> Tensor:
    """Transform correlation weights [num_phases·K, C, taps, taps] and pack them as `winograd_plan.h` says.

    Phases come first in the order of rows. The transform is done in float64.
    """
    panel = 2 * lanes
    columns = _pad_columns(weight, form, step=panel if form.num_phases == 1 else lanes)
    parts = torch.split(columns, panel)
    first = _pack_panel(parts[0], form, lanes=lanes)
    # Filled in place: the packed weight is several times the plain one, and is alive once only.
    packed = first.new_empty((len(parts), *first.shape))
    packed[0] = first
    for index, part in enumerate(parts[1:], start=1):
        packed[index] = _pack_panel(part, form, lanes=lanes)
    return packed


def _pad_columns(weight: Tensor, form: Form, *, step: int) -> Tensor:
    """Fill each phase's output channels up to a multiple of `step`."""
    phases = weight.unflatten(0, (form.num_phases, -1))  # type: ignore[no-untyped-call]
    filled = F.pad(phases, [0, 0, 0, 0, 0, 0, 0, -phases.shape[1] % step])
    return filled.flatten(0, 1)


def _pack_panel(weight: Tensor, form: Form, *, lanes: int) -> Tensor:
    """Pack [at most 2·lanes, C, taps, taps]: one panel at a time, so that little float64 is alive at once."""
    G = weight_transform(form)
    panel, C = 2 * lanes, weight.shape[1]
    u = torch.einsum("ai,kcij,bj->abck", G, weight.to(torch.float64), G).flatten(0, 1)
    u = F.pad(u, [0, panel - weight.shape[0], 0, -C % lanes])  # [frequencies, C, 2·lanes]
    if not form.is_half:
        return u.to(torch.float32)
    pairs = u.reshape(u.shape[0], -1, 2, panel).transpose(2, 3)
    return pairs.to(torch.bfloat16, memory_format=torch.contiguous_format)


def weight_transform(form: Form) -> Tensor:
    """Return G [size, taps]: each tap's power of a point, divided by that point's distance to the others.

    Without points it is the identity: the taps themselves, of a direct convolution.
    """
    if not form.points:
        return torch.eye(form.taps, dtype=torch.float64)
    rows = []
    for point in form.points:
        scale = prod(point - other for other in form.points if other != point)
        rows.append([point**power / scale for power in range(form.taps)])
    rows.append([0.0] * (form.taps - 1) + [1.0])
    return torch.tensor(rows, dtype=torch.float64)
