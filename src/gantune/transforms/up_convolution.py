"""Up-sampling by 2, convolution and FIR filter with constant weights, in three equal forms.

The definition is a transposed convolution with the full kernel W (stride 2), then the FIR filter f with
gain 4: y = 4·f ⊛ (W ⊛ zero-inserted x). The forms put the three linear steps together differently.
"""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gantune.errors import UsageError

Form = Literal["transposed", "subpixel", "merged"]
FORMS: tuple[Form, ...] = ("transposed", "subpixel", "merged")


@dataclass(frozen=True)
class _Steps:
    """A kernel [K, C, m, m] behind zero insertion and a filter plane (None: it is in the kernel).

    Both are true convolutions, in float64; `first` is where the result's sample 0 lies in the full one.
    """

    kernel: Tensor
    plane: Tensor | None
    first: int


class UpConvolution(nn.Module):
    """Map [N, C, H, W] to [N, K, 2H, 2W]; `form` says how.

    `transposed`: transposed convolution, then the filter. `merged`: one transposed convolution with W ⊛ f.
    `subpixel`: a plain convolution for the four output phases, a pixel shuffle, then the filter; one [1, 1]
    factor of the filter moves into the kernel, free because the phases' kernels are padded anyway.
    """

    filter: Tensor | None

    def __init__(self, weight: Tensor, resample_filter: Tensor, form: Form) -> None:
        super().__init__()
        self.form = form
        self.original = (weight, resample_filter)
        steps = _prepare(weight, resample_filter, form)
        self.out_channels = weight.shape[0]
        self.kernel_size = steps.kernel.shape[-1]
        kernel = _phases(steps.kernel) if form == "subpixel" else steps.kernel.transpose(0, 1)
        self.weight = nn.Parameter(kernel.to(weight.dtype).contiguous())
        taps = None if steps.plane is None else steps.plane.flip([0, 1]).to(weight.dtype)
        depthwise = None if taps is None else taps.repeat(self.out_channels, 1, 1, 1)
        self.register_buffer("filter", depthwise)
        num_taps = 1 if taps is None else taps.shape[-1]
        before = num_taps - 1 - steps.first
        self.padding = (before, num_taps + 1 - self.kernel_size - before)

    def forward(self, x: Tensor) -> Tensor:
        """Up-sample, convolve and filter."""
        before, after = self.padding
        y = self.convolve(x)
        if self.filter is None:
            return y
        if before == after >= 0:
            return F.conv2d(y, self.filter, padding=before, groups=self.out_channels)
        return F.conv2d(F.pad(y, [before, after, before, after]), self.filter, groups=self.out_channels)

    def convolve(self, x: Tensor) -> Tensor:
        """Run the dense step, and put its result in place: phases shuffled, or the rim cropped."""
        y = self.convolve_densely(x)
        if self.form == "subpixel":
            return F.pixel_shuffle(y, 2)
        rest = self._rim()
        return y if rest == (0, 0) else F.pad(y, [*rest, *rest])

    def convolve_densely(self, x: Tensor) -> Tensor:
        """Run the one convolution alone."""
        if self.form == "subpixel":
            return F.conv2d(x, self.weight, padding=self.kernel_size // 2 - 1)
        return F.conv_transpose2d(x, self.weight, stride=2, padding=self._crop())

    def _crop(self) -> int:
        """Give the rim that a merged transposed convolution leaves out on every side."""
        return 0 if self.filter is not None else max(0, -max(self.padding))

    def _rim(self) -> tuple[int, int]:
        before, after = (0, 0) if self.filter is not None else self.padding
        return before + self._crop(), after + self._crop()


def _prepare(weight: Tensor, resample_filter: Tensor, form: Form) -> _Steps:
    if form not in FORMS:
        raise UsageError(f"There is no resampling form {form!r}; the forms are: {', '.join(FORMS)}.")
    kernel = weight.detach().to(torch.float64)
    plane = resample_filter.to(torch.float64) * (4 if resample_filter.ndim == 2 else 2)
    plane = torch.outer(plane, plane) if plane.ndim == 1 else plane
    size, taps = kernel.shape[-1], plane.shape[-1]
    # The definition pads by size // 2 + (taps + 1) // 2 before and runs both filters without padding.
    first = size + taps - 2 - size // 2 - (taps + 1) // 2
    if form == "merged":
        return _Steps(_convolve(kernel, plane), None, first)
    if form == "transposed":
        return _Steps(kernel, plane, first)
    rest = _divide_by_box(plane)
    if rest is not None and size % 2:
        kernel, plane = _convolve(kernel, torch.ones(2, 2, dtype=torch.float64)), rest
    odd = kernel.shape[-1] % 2
    return _Steps(F.pad(kernel, [0, odd, 0, odd]), plane, first)


def _convolve(kernel: Tensor, plane: Tensor) -> Tensor:
    """Convolve every kernel fully with a plane."""
    K, C, size, _ = kernel.shape
    taps = plane.shape[-1]
    y = F.conv2d(kernel.reshape(K * C, 1, size, size), plane.flip([0, 1])[None, None], padding=taps - 1)
    return y.reshape(K, C, size + taps - 1, size + taps - 1)


def _divide_by_box(plane: Tensor) -> Tensor | None:
    """Return q with q ⊛ [[1, 1], [1, 1]] = plane, or None where there is none."""
    if plane.shape[-1] < 2:
        return None
    rest = plane
    for _ in range(2):
        rows = [torch.zeros_like(rest[0])]
        for row in rest[:-1]:
            rows.append(row - rows[-1])
        rest = torch.stack(rows[1:]).t()
    found = _convolve(rest[None, None], torch.ones(2, 2, dtype=rest.dtype))[0, 0]
    return rest if torch.allclose(found, plane, atol=1e-12, rtol=0) else None


def _phases(kernel: Tensor) -> Tensor:
    """Split a true convolution's kernel [K, C, m, m] into correlations for the four phases."""
    K, C, size, _ = kernel.shape
    split = kernel.reshape(K, C, size // 2, 2, size // 2, 2).flip([2, 4])
    return split.permute(0, 3, 5, 1, 2, 4).reshape(4 * K, C, size // 2, size // 2)
