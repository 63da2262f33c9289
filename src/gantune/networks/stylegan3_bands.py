"""The frequency bands of StyleGAN3: what each layer's cutoff, sampling rate, size and width are."""

from dataclasses import dataclass
from math import ceil, log2

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass


@checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class AliasFreeOptions:
    """Choose the shape of a StyleGAN3 synthesis network (arXiv 2106.12423, section 4).

    Cutoffs and stopbands are in cycles per image; `filter_size` taps serve each input or output sample;
    `margin_size` samples surround every layer; the last `num_critical` layers are critically sampled.
    `num_fp16_res` says how a network was trained: it is kept, and everything runs in float32.
    """

    w_dim: int = Field(ge=1)
    img_resolution: int = Field(ge=4)
    img_channels: int = Field(ge=1)
    channel_base: int = Field(default=32768, ge=1)
    channel_max: int = Field(default=512, ge=1)
    num_layers: int = Field(default=14, ge=2)
    num_critical: int = Field(default=2, ge=0)
    first_cutoff: float = Field(default=2.0, gt=0)
    first_stopband: float = Field(default=2**2.1, gt=0)
    last_stopband_rel: float = Field(default=2**0.3, gt=0)
    margin_size: int = Field(default=10, ge=0)
    output_scale: float = 0.25
    num_fp16_res: int = Field(default=0, ge=0)
    conv_kernel: int = Field(default=3, ge=1)
    filter_size: int = Field(default=6, ge=1)
    lrelu_upsampling: int = Field(default=2, ge=1)
    use_radial_filters: bool = False
    conv_clamp: float | None = 256.0
    magnitude_ema_beta: float = Field(default=0.999, ge=0, le=1)


@dataclass(frozen=True)
class Band:
    """Describe the signal behind one layer; cutoff and half transition width are in cycles per image."""

    cutoff: float
    half_width: float
    sampling_rate: int
    size: int
    channels: int


def plan_bands(options: AliasFreeOptions) -> tuple[Band, ...]:
    """Return the bands of layers 0 … num_layers; the last is the image's.

    Cutoffs and stopbands grow geometrically up to the first critically sampled layer; the sampling rate is
    the power of two that holds the stopband.
    """
    last_cutoff = options.img_resolution / 2
    last_stopband = last_cutoff * options.last_stopband_rel
    bands = []
    for index in range(options.num_layers + 1):
        progress = min(index / (options.num_layers - options.num_critical), 1)
        cutoff = options.first_cutoff * (last_cutoff / options.first_cutoff) ** progress
        stopband = options.first_stopband * (last_stopband / options.first_stopband) ** progress
        rate = 2 ** ceil(log2(min(2 * stopband, options.img_resolution)))
        is_cropped = index >= options.num_layers - 1
        is_image = index == options.num_layers
        bands.append(
            Band(
                cutoff=cutoff,
                half_width=max(stopband, rate / 2) - cutoff,
                sampling_rate=rate,
                size=options.img_resolution if is_cropped else rate + 2 * options.margin_size,
                channels=options.img_channels if is_image else _channels(options, cutoff),
            )
        )
    return tuple(bands)


def _channels(options: AliasFreeOptions, cutoff: float) -> int:
    return round(min(options.channel_base / 2 / cutoff, options.channel_max))
