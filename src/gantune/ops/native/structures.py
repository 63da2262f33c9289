"""The structures of plan.h, field for field, and how tensors become them."""

import ctypes
from ctypes import c_float, c_int32, c_int64, c_void_p

import torch
from torch import Tensor

ELEMENT_TYPES = {torch.float32: 0, torch.bfloat16: 1}
MASK_NONE, MASK_WRITE, MASK_READ = 0, 1, 2
MASK_CHANNELS = 16

Pair = c_int32 * 2
_Four = c_int64 * 4


class Image(ctypes.Structure):
    """A tensor [N, C, H, W] with strides in elements."""

    _fields_ = (
        ("data", c_void_p),
        ("size", _Four),
        ("stride", _Four),
        ("type", c_int32),
        ("reserved", c_int32),
    )


class Filter(ctypes.Structure):
    """The taps of a filter; height 0 for a separable one, no taps for the identity."""

    _fields_ = (("taps", c_void_p), ("height", c_int32), ("width", c_int32))


class Activation(ctypes.Structure):
    """Slope of the leaky ReLU and clamp (infinity: none)."""

    _fields_ = (("slope", c_float), ("clamp", c_float), ("enabled", c_int32))


class FilterRequest(ctypes.Structure):
    """The whole of filtered_lrelu or upfirdn2d; pairs are (x, y)."""

    _fields_ = (
        ("x", Image),
        ("y", Image),
        ("bias", c_void_p),
        ("scale_in", c_void_p),
        ("scale_out", c_void_p),
        ("mask", c_void_p),
        ("up_filter", Filter),
        ("down_filter", Filter),
        ("up", Pair),
        ("down", Pair),
        ("padding", Pair),
        ("size_middle", Pair),
        ("mask_offset", Pair),
        ("mask_use", c_int32),
        ("flip_filter", c_int32),
        ("gain", c_float),
        ("activation", Activation),
    )


class PointwiseRequest(ctypes.Structure):
    """Scale, noise, bias, activation, gain and clamp over dense memory."""

    _fields_ = (
        ("x", c_void_p),
        ("gradient", c_void_p),
        ("y", c_void_p),
        ("scale", c_void_p),
        ("scale_out", c_void_p),
        ("bias", c_void_p),
        ("noise", c_void_p),
        ("samples", c_int64),
        ("channels", c_int64),
        ("pixels", c_int64),
        ("noise_stride", c_int64),
        ("channels_last", c_int32),
        ("type", c_int32),
        ("kind", c_int32),
        ("streams", c_int32),
        ("alpha", c_float),
        ("gain", c_float),
        ("clamp", c_float),
        ("strength", c_float),
    )


class WinogradRequest(ctypes.Structure):
    """A convolution by the Winograd method with the layer around it; see winograd_plan.h."""

    _fields_ = (
        ("x", c_void_p),
        ("y", c_void_p),
        ("weight", c_void_p),
        ("scale_in", c_void_p),
        ("scale_out", c_void_p),
        ("bias", c_void_p),
        ("slope", c_void_p),
        ("noise", c_void_p),
        ("noise_stride", c_int64),
        ("N", c_int64),
        ("C", c_int64),
        ("K", c_int64),
        ("H", c_int64),
        ("W", c_int64),
        ("out_h", c_int64),
        ("out_w", c_int64),
        ("first_row", c_int64),
        ("form", c_int32),
        ("padding", c_int32),
        ("clamp", c_float),
    )


class SmoothRequest(ctypes.Structure):
    """Three taps in both directions, then the rest of the layer."""

    _fields_ = (
        ("x", c_void_p),
        ("y", c_void_p),
        ("scale_out", c_void_p),
        ("bias", c_void_p),
        ("slope", c_void_p),
        ("noise", c_void_p),
        ("noise_stride", c_int64),
        ("N", c_int64),
        ("K", c_int64),
        ("H", c_int64),
        ("W", c_int64),
        ("taps", c_float * 3),
        ("clamp", c_float),
        ("is_half", c_int32),
    )


class ProjectionRequest(ctypes.Structure):
    """Few sums over channels at every pixel."""

    _fields_ = (
        ("x", c_void_p),
        ("y", c_void_p),
        ("image", c_void_p),
        ("weight", c_void_p),
        ("bias", c_void_p),
        ("N", c_int64),
        ("C", c_int64),
        ("O", c_int64),
        ("H", c_int64),
        ("W", c_int64),
        ("plane", c_int64),
        ("clamp", c_float),
    )


def describe_image(x: Tensor) -> Image:
    """Describe `x` [N, C, H, W] in float32 or bfloat16."""
    return Image(x.data_ptr(), _Four(*x.shape), _Four(*x.stride()), ELEMENT_TYPES[x.dtype], 0)


def describe_filter(f: Tensor | None) -> Filter:
    """Describe a filter that `as_floats` made."""
    if f is None:
        return Filter(None, 0, 0)
    return Filter(f.data_ptr(), 0 if f.ndim == 1 else f.shape[0], f.shape[-1])


def as_floats(values: Tensor | None) -> Tensor | None:
    """Return `values` as contiguous float32, itself where it is that already."""
    return None if values is None else values.detach().to(torch.float32).contiguous()


def address(values: Tensor | None) -> int | None:
    """Return where the values lie, or None."""
    return None if values is None else values.data_ptr()


def empty_result(x: Tensor, height: int, width: int) -> Tensor:
    """Return uninitialised memory [N, C, height, width] of the dtype and memory format of `x`."""
    format = torch.contiguous_format
    if x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous():
        format = torch.channels_last
    return torch.empty(
        x.shape[0], x.shape[1], height, width, dtype=x.dtype, device=x.device, memory_format=format
    )


def mask_shape(x: Tensor, height: int, width: int) -> list[int]:
    """Return the shape of the mask for `x` [N, C, H, W] upsampled to height × width."""
    groups = (x.shape[1] + MASK_CHANNELS - 1) // MASK_CHANNELS
    return [x.shape[0], groups, height, width, MASK_CHANNELS]
