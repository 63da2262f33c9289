"""The synthesis network of StyleGAN3: Fourier features to an image (arXiv 2106.12423)."""

from math import sqrt

import torch
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.networks.equalized import EqualizedLinear
from gantune.networks.stylegan2_synthesis import NOISE_MODES, NoiseMode
from gantune.networks.stylegan3_bands import AliasFreeOptions, Band, plan_bands
from gantune.networks.stylegan3_filters import design_lowpass
from gantune.networks.stylegan3_input import FourierInput
from gantune.ops import filtered_lrelu, modulated_conv2d


class AliasFreeLayer(nn.Module):
    """Modulated convolution, then a leaky ReLU at a higher sampling rate between two low-pass filters.

    The last layer (`is_torgb`) is a 1×1 convolution with neither demodulation, filters nor slope.
    """

    magnitude_ema: Tensor
    up_filter: Tensor | None
    down_filter: Tensor | None

    def __init__(
        self, before: Band, after: Band, *, is_torgb: bool, is_critical: bool, options: AliasFreeOptions
    ) -> None:
        super().__init__()
        self.in_channels = before.channels
        self.out_channels = after.channels
        self.in_size = before.size
        self.out_size = after.size
        self.is_torgb = is_torgb
        self.demodulate = not is_torgb
        self.conv_kernel = 1 if is_torgb else options.conv_kernel
        self.conv_clamp = options.conv_clamp
        self.magnitude_ema_beta = options.magnitude_ema_beta
        self.gain = 1.0 if is_torgb else sqrt(2)
        self.slope = 1.0 if is_torgb else 0.2
        self.style_gain = 1 / sqrt(before.channels * self.conv_kernel**2) if is_torgb else 1.0
        self.affine = EqualizedLinear(options.w_dim, before.channels, bias_init=1)
        kernel = (self.conv_kernel, self.conv_kernel)
        self.weight = nn.Parameter(torch.randn(after.channels, before.channels, *kernel))
        self.bias = nn.Parameter(torch.zeros(after.channels))
        self.register_buffer("magnitude_ema", torch.ones([]))
        self._add_filters(before, after, options, is_radial=options.use_radial_filters and not is_critical)
        self.padding = self._plan_padding()

    def _add_filters(self, before: Band, after: Band, options: AliasFreeOptions, *, is_radial: bool) -> None:
        oversampling = 1 if self.is_torgb else options.lrelu_upsampling
        rate = max(before.sampling_rate, after.sampling_rate) * oversampling
        self.up_factor = rate // before.sampling_rate
        self.down_factor = rate // after.sampling_rate
        self.up_taps = self._count_taps(self.up_factor, options.filter_size)
        self.down_taps = self._count_taps(self.down_factor, options.filter_size)
        self.register_buffer(
            "up_filter",
            design_lowpass(
                self.up_taps, cutoff=before.cutoff, half_width=before.half_width, sampling_rate=rate
            ),
        )
        self.register_buffer(
            "down_filter",
            design_lowpass(
                self.down_taps,
                cutoff=after.cutoff,
                half_width=after.half_width,
                sampling_rate=rate,
                is_radial=is_radial,
            ),
        )

    def _count_taps(self, factor: int, filter_size: int) -> int:
        return filter_size * factor if factor > 1 and not self.is_torgb else 1

    def _plan_padding(self) -> list[int]:
        """Return [x0, x1, y0, y1] that give `out_size` from `in_size`, grown by the convolution's padding."""
        needed = (self.out_size - 1) * self.down_factor + 1
        present = (self.in_size + self.conv_kernel - 1) * self.up_factor
        total = needed - present + self.up_taps + self.down_taps - 2
        before = (total + self.up_factor) // 2
        return [before, total - before, before, total - before]

    def forward(
        self, x: Tensor, w: Tensor, noise_mode: NoiseMode = "const", *, update_emas: bool = False
    ) -> Tensor:
        """Return [N, out_channels, out_size, out_size]; `noise_mode` is without effect: there is no noise.

        `update_emas` moves `magnitude_ema`, by which x is normalized, towards the mean square of x.
        """
        if update_emas:
            magnitude = x.detach().float().square().mean()
            self.magnitude_ema.copy_(magnitude.lerp(self.magnitude_ema, self.magnitude_ema_beta))
        x = modulated_conv2d(
            x * self.magnitude_ema.rsqrt(),
            self.weight,
            self.affine(w) * self.style_gain,
            padding=self.conv_kernel - 1,
            demodulate=self.demodulate,
            fused_modconv=not self.training,
        )
        return filtered_lrelu(
            x,
            fu=self.up_filter,
            fd=self.down_filter,
            b=self.bias,
            up=self.up_factor,
            down=self.down_factor,
            padding=self.padding,
            gain=self.gain,
            slope=self.slope,
            clamp=self.conv_clamp,
        )


class AliasFreeSynthesis(nn.Module):
    """Map ws [N, num_ws, w_dim] to images [N, img_channels, R, R]; ws 0 is the input's alone."""

    def __init__(self, options: AliasFreeOptions) -> None:
        super().__init__()
        self.w_dim = options.w_dim
        self.num_ws = options.num_layers + 2
        self.img_resolution = options.img_resolution
        self.img_channels = options.img_channels
        self.output_scale = options.output_scale
        bands = plan_bands(options)
        first = bands[0]
        self.input = FourierInput(
            options.w_dim,
            first.channels,
            size=first.size,
            sampling_rate=first.sampling_rate,
            bandwidth=first.cutoff,
        )
        self.layer_names = []
        for index, after in enumerate(bands):
            layer = AliasFreeLayer(
                bands[max(index - 1, 0)],
                after,
                is_torgb=index == options.num_layers,
                is_critical=index >= options.num_layers - options.num_critical,
                options=options,
            )
            self.layer_names.append(f"L{index}_{after.size}_{after.channels}")
            self.add_module(self.layer_names[-1], layer)

    def forward(self, ws: Tensor, noise_mode: NoiseMode = "const", *, update_emas: bool = False) -> Tensor:
        """Return the image; `noise_mode` is without effect: there is no noise.

        Raise `UsageError` for ws of another shape or an unknown noise mode.
        """
        if ws.ndim != 3 or ws.shape[1:] != (self.num_ws, self.w_dim):
            raise UsageError(
                f"ws has the shape {list(ws.shape)}; this network takes [N, {self.num_ws}, {self.w_dim}]."
            )
        if noise_mode not in NOISE_MODES:
            raise UsageError(
                f"There is no noise mode {noise_mode!r}; the modes are: {', '.join(NOISE_MODES)}."
            )
        x = self.input(ws[:, 0])
        for index, name in enumerate(self.layer_names, start=1):
            x = getattr(self, name)(x, ws[:, index], noise_mode, update_emas=update_emas)
        image: Tensor = x * self.output_scale
        return image
