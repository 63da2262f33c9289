"""The shape of a StyleGAN2 network: resolution, widths, architecture and the options of its layers."""

from typing import Literal

from pydantic import ConfigDict, Field, field_validator
from pydantic.dataclasses import dataclass

Architecture = Literal["orig", "skip", "resnet"]


def _check_resolution(value: int) -> int:
    if value < 4 or value & (value - 1):
        raise ValueError(f"a resolution is a power of two, at least 4; found {value}")
    return value


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class SynthesisOptions:
    """Choose the shape of a synthesis network.

    A resolution r has min(channel_base / r, channel_max) channels. `conv_clamp` bounds the output of every
    layer, as networks trained in half precision need. `num_fp16_res`, `fp16_channels_last` and
    `fused_modconv_default` say how a network was trained: they are kept, and everything runs in float32.
    """

    w_dim: int = Field(ge=1)
    img_resolution: int
    img_channels: int = Field(ge=1)
    channel_base: int = Field(default=32768, ge=1)
    channel_max: int = Field(default=512, ge=1)
    num_fp16_res: int = Field(default=0, ge=0)
    conv_clamp: float | None = None
    architecture: Architecture = "skip"
    resample_filter: tuple[float, ...] = (1, 3, 3, 1)
    kernel_size: int = 3
    activation: str = "lrelu"
    use_noise: bool = True
    fp16_channels_last: bool = False
    fused_modconv_default: bool | str = True

    _resolution = field_validator("img_resolution")(_check_resolution)


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class DiscriminatorOptions:
    """Choose the shape of a discriminator; the names mean what they mean in `SynthesisOptions`.

    A `mbstd_group_size` of None takes the whole batch as one group, a `mbstd_num_channels` of 0 leaves the
    minibatch statistics out; a `cmap_dim` of None is the width at 4×4. `freeze_layers` is kept for a trainer.
    """

    c_dim: int = Field(ge=0)
    img_resolution: int
    img_channels: int = Field(ge=1)
    architecture: Architecture = "resnet"
    channel_base: int = Field(default=32768, ge=1)
    channel_max: int = Field(default=512, ge=1)
    num_fp16_res: int = Field(default=0, ge=0)
    conv_clamp: float | None = None
    cmap_dim: int | None = Field(default=None, ge=1)
    resample_filter: tuple[float, ...] = (1, 3, 3, 1)
    activation: str = "lrelu"
    freeze_layers: int = Field(default=0, ge=0)
    fp16_channels_last: bool = False
    mbstd_group_size: int | None = Field(default=4, ge=1)
    mbstd_num_channels: int = Field(default=1, ge=0)

    _resolution = field_validator("img_resolution")(_check_resolution)


def channels_at(options: SynthesisOptions | DiscriminatorOptions, resolution: int) -> int:
    """Return the number of channels at `resolution`."""
    return min(options.channel_base // resolution, options.channel_max)
