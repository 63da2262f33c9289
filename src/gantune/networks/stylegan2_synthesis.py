"""The synthesis network of StyleGAN2: ws become an image, layer by layer (arXiv 1912.04958)."""

from collections.abc import Mapping
from math import log2, sqrt
from typing import Literal

import torch
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.networks.equalized import EqualizedConv2d, EqualizedLinear, activation_gain
from gantune.networks.stylegan2_options import Architecture, SynthesisOptions, channels_at
from gantune.ops import bias_act, modulated_conv2d, setup_filter, upsample2d

NoiseMode = Literal["const", "none", "random"]
NOISE_MODES: tuple[NoiseMode, ...] = ("const", "none", "random")


class ModulatedLayer(nn.Module):
    """Modulated 3×3 convolution, noise, bias and activation, up-sampled by 2 first where `up` is 2."""

    resample_filter: Tensor
    noise_const: Tensor

    def __init__(
        self, in_channels: int, out_channels: int, *, resolution: int, up: int, options: SynthesisOptions
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.resolution = resolution
        self.up = up
        self.down = 1
        self.padding = options.kernel_size // 2
        self.demodulate = True
        self.use_noise = options.use_noise
        self.activation = options.activation
        self.act_gain = activation_gain(options.activation)
        self.conv_clamp = options.conv_clamp
        self.affine = EqualizedLinear(options.w_dim, in_channels, bias_init=1)
        kernel = (options.kernel_size, options.kernel_size)
        self.weight = nn.Parameter(torch.randn(out_channels, in_channels, *kernel))
        self.bias = nn.Parameter(torch.zeros(out_channels))
        self.register_buffer("resample_filter", setup_filter(list(options.resample_filter)))
        if self.use_noise:
            self.register_buffer("noise_const", torch.randn(resolution, resolution))
            self.noise_strength = nn.Parameter(torch.zeros([]))

    def forward(
        self,
        x: Tensor,
        w: Tensor,
        noise_mode: NoiseMode = "const",
        noise: Tensor | None = None,
        gain: float = 1.0,
    ) -> Tensor:
        """Return [N, out_channels, up·H, up·W] for x [N, in_channels, H, W] and w [N, w_dim].

        `noise` [N or 1, 1, up·H, up·W] takes the place of the noise that `noise_mode` names.
        """
        x = modulated_conv2d(
            x,
            self.weight,
            self.affine(w),
            noise=self.scaled_noise(x, noise_mode, noise),
            up=self.up,
            padding=self.padding,
            resample_filter=self.resample_filter,
            demodulate=self.demodulate,
            # README of the format: an up-sampling layer is a true convolution, the others are correlations.
            flip_weight=self.up == 1,
            fused_modconv=not self.training,
        )
        clamp = None if self.conv_clamp is None else self.conv_clamp * gain
        return bias_act(x, self.bias, act=self.activation, gain=self.act_gain * gain, clamp=clamp)

    def scaled_noise(self, x: Tensor, noise_mode: NoiseMode, noise: Tensor | None) -> Tensor | None:
        """Return what is added behind the convolution, times `noise_strength`; None for no noise."""
        if not self.use_noise:
            return None
        if noise is not None:
            return noise.to(x.dtype) * self.noise_strength
        if noise_mode == "const":
            return self.noise_const * self.noise_strength
        if noise_mode == "random":
            shape = (x.shape[0], 1, self.resolution, self.resolution)
            return torch.randn(shape, device=x.device, dtype=x.dtype) * self.noise_strength
        return None


class ToRgbLayer(nn.Module):
    """Modulated 1×1 convolution to image channels, without demodulation, noise or activation."""

    def __init__(self, in_channels: int, *, options: SynthesisOptions) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = options.img_channels
        self.demodulate = False
        self.conv_clamp = options.conv_clamp
        self.affine = EqualizedLinear(options.w_dim, in_channels, bias_init=1)
        self.weight = nn.Parameter(torch.randn(self.out_channels, in_channels, 1, 1))
        self.bias = nn.Parameter(torch.zeros(self.out_channels))
        self.weight_gain = 1 / sqrt(in_channels)

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """Return the image part [N, img_channels, H, W] of x [N, in_channels, H, W]."""
        x = modulated_conv2d(
            x,
            self.weight,
            self.affine(w) * self.weight_gain,
            demodulate=self.demodulate,
            fused_modconv=not self.training,
        )
        return bias_act(x, self.bias, clamp=self.conv_clamp)


class SynthesisBlock(nn.Module):
    """All layers of one resolution: conv0 (up, absent at 4×4), conv1, and torgb or skip by architecture."""

    resample_filter: Tensor

    def __init__(
        self, in_channels: int, out_channels: int, *, resolution: int, options: SynthesisOptions
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.resolution = resolution
        self.architecture: Architecture = options.architecture
        self.has_torgb = options.architecture == "skip" or resolution == options.img_resolution
        self.num_conv = 1 if in_channels == 0 else 2
        self.register_buffer("resample_filter", setup_filter(list(options.resample_filter)))
        if in_channels == 0:
            self.const = nn.Parameter(torch.randn(out_channels, resolution, resolution))
        else:
            self.conv0 = ModulatedLayer(
                in_channels, out_channels, resolution=resolution, up=2, options=options
            )
        self.conv1 = ModulatedLayer(out_channels, out_channels, resolution=resolution, up=1, options=options)
        if self.has_torgb:
            self.torgb = ToRgbLayer(out_channels, options=options)
        if in_channels != 0 and options.architecture == "resnet":
            self.skip = EqualizedConv2d(
                in_channels, out_channels, 1, bias=False, up=2, resample_filter=options.resample_filter
            )

    def forward(
        self,
        x: Tensor | None,
        img: Tensor | None,
        ws: Tensor,
        noise_mode: NoiseMode = "const",
        noise: Mapping[str, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return features and image of this resolution; `ws` [N, num_conv + 1, w_dim] is this block's."""
        noise = noise or {}
        if x is None:
            features = self.const.unsqueeze(0).expand(ws.shape[0], -1, -1, -1)
            features = self.conv1(features, ws[:, 0], noise_mode, noise.get("conv1"))
        elif self.architecture == "resnet":
            shortcut = self.skip(x, gain=sqrt(0.5))
            features = self.conv0(x, ws[:, 0], noise_mode, noise.get("conv0"))
            features = self.conv1(features, ws[:, 1], noise_mode, noise.get("conv1"), gain=sqrt(0.5))
            features = shortcut + features
        else:
            features = self.conv0(x, ws[:, 0], noise_mode, noise.get("conv0"))
            features = self.conv1(features, ws[:, 1], noise_mode, noise.get("conv1"))
        if img is not None:
            img = upsample2d(img, self.resample_filter)
        if self.has_torgb:
            rgb = self.torgb(features, ws[:, self.num_conv])
            img = rgb if img is None else img + rgb
        return features, img


class SynthesisNetwork(nn.Module):
    """Map ws [N, num_ws, w_dim] to an image [N, img_channels, R, R], R = img_resolution."""

    def __init__(self, options: SynthesisOptions) -> None:
        super().__init__()
        self.w_dim = options.w_dim
        self.img_resolution = options.img_resolution
        self.img_channels = options.img_channels
        self.block_resolutions = [2**i for i in range(2, int(log2(options.img_resolution)) + 1)]
        self.num_ws = 2 * len(self.block_resolutions)
        for resolution in self.block_resolutions:
            in_channels = channels_at(options, resolution // 2) if resolution > 4 else 0
            out_channels = channels_at(options, resolution)
            block = SynthesisBlock(in_channels, out_channels, resolution=resolution, options=options)
            self.add_module(f"b{resolution}", block)

    def noise_shapes(self) -> dict[str, tuple[int, int, int, int]]:
        """List the noise the layers take: layer name ("b8.conv0") to shape (1, 1, H, W), in layer order."""
        shapes = {}
        for name, module in self.named_modules():
            if name.endswith(("conv0", "conv1")) and getattr(module, "use_noise", False):
                resolution = int(module.resolution)
                shapes[name] = (1, 1, resolution, resolution)
        return shapes

    def forward(
        self,
        ws: Tensor,
        noise_mode: NoiseMode = "const",
        noise: Mapping[str, Tensor] | None = None,
    ) -> Tensor:
        """Return the image; `noise` maps layer names ("b8.conv0") to tensors [N or 1, 1, H, W].

        A layer that `noise` leaves out follows `noise_mode`. Raise `UsageError` for an unknown mode or layer.
        """
        self._check(ws, noise_mode, noise)
        x: Tensor | None = None
        img: Tensor | None = None
        for index, resolution in enumerate(self.block_resolutions):
            first = max(2 * index - 1, 0)
            block = getattr(self, f"b{resolution}")
            block_ws = ws[:, first : first + block.num_conv + 1]
            block_noise = {
                name.partition(".")[2]: tensor
                for name, tensor in (noise or {}).items()
                if name.startswith(f"b{resolution}.")
            }
            x, img = block(x, img, block_ws, noise_mode, block_noise)
        assert img is not None, "the last block always has a torgb"
        return img

    def _check(self, ws: Tensor, noise_mode: str, noise: Mapping[str, Tensor] | None) -> None:
        if ws.ndim != 3 or ws.shape[1:] != (self.num_ws, self.w_dim):
            raise UsageError(
                f"ws has the shape {list(ws.shape)}; this network takes [N, {self.num_ws}, {self.w_dim}]."
            )
        if noise_mode not in NOISE_MODES:
            raise UsageError(
                f"There is no noise mode {noise_mode!r}; the modes are: {', '.join(NOISE_MODES)}."
            )
        unknown = set(noise) - set(self.noise_shapes()) if noise else set()
        if unknown:
            raise UsageError(
                f"No layer {min(unknown)!r} takes noise; the layers are: {', '.join(self.noise_shapes())}."
            )
