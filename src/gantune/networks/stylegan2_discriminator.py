"""The StyleGAN2 discriminator: images (and labels) become logits (arXiv 1912.04958, 2006.06676)."""

from math import log2, sqrt

import torch
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.networks.contract import Config, sample_tensors
from gantune.networks.equalized import EqualizedConv2d, EqualizedLinear
from gantune.networks.options import read_options
from gantune.networks.stylegan2_options import Architecture, DiscriminatorOptions, channels_at
from gantune.networks.stylegan_mapping import MappingNetwork, MappingOptions
from gantune.ops import downsample2d, setup_filter
from gantune.records.interface import InputSpec, OutputSpec


class MinibatchStddev(nn.Module):
    """Append the standard deviation over groups of samples as extra channels (arXiv 1710.10196, section 3).

    Sample n is in group n mod (N / G), with G = min(group_size, N).
    """

    def __init__(self, group_size: int | None, num_channels: int) -> None:
        super().__init__()
        self.group_size = group_size
        self.num_channels = num_channels

    def forward(self, x: Tensor) -> Tensor:
        """Return x [N, C, H, W] with `num_channels` more; raise `UsageError` where G does not divide N."""
        N, C, H, W = x.shape
        G = N if self.group_size is None else min(self.group_size, N)
        if N % G:
            raise UsageError(
                f"A batch of {N} does not split into groups of {G}, over which this discriminator takes its "
                f"statistics; give a multiple of {G}, or fewer than {G}."
            )
        groups = x.reshape(G, N // G, self.num_channels, C // self.num_channels, H, W)
        # Written out: the second derivative of `var` loses the digits that a bias's R1 gradient lives on.
        variance = (groups - groups.mean(dim=0)).square().mean(dim=0)
        deviation = (variance + 1e-8).sqrt()
        statistic = deviation.mean(dim=(2, 3, 4))  # [N/G, num_channels]
        planes = statistic.repeat(G, 1)[:, :, None, None].expand(-1, -1, H, W)
        return torch.cat([x, planes], dim=1)


class DiscriminatorBlock(nn.Module):
    """Halve the resolution: fromrgb where images enter, conv0, conv1 (down), and skip in a resnet."""

    resample_filter: Tensor

    def __init__(
        self,
        in_channels: int,
        mid_channels: int,
        out_channels: int,
        *,
        resolution: int,
        options: DiscriminatorOptions,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.resolution = resolution
        self.architecture: Architecture = options.architecture
        self.has_fromrgb = in_channels == 0 or options.architecture == "skip"
        self.register_buffer("resample_filter", setup_filter(list(options.resample_filter)))
        act, clamp, taps = options.activation, options.conv_clamp, options.resample_filter
        if self.has_fromrgb:
            self.fromrgb = EqualizedConv2d(
                options.img_channels, mid_channels, 1, activation=act, conv_clamp=clamp
            )
        self.conv0 = EqualizedConv2d(mid_channels, mid_channels, 3, activation=act, conv_clamp=clamp)
        self.conv1 = EqualizedConv2d(
            mid_channels, out_channels, 3, activation=act, down=2, resample_filter=taps, conv_clamp=clamp
        )
        if options.architecture == "resnet":
            self.skip = EqualizedConv2d(
                mid_channels, out_channels, 1, bias=False, down=2, resample_filter=taps
            )

    def forward(self, x: Tensor | None, img: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return features and, in a skip architecture, the image, both at half the resolution."""
        if self.has_fromrgb:
            assert img is not None, "an image enters every block that has a fromrgb"
            entering = self.fromrgb(img)
            x = entering if x is None else x + entering
            img = downsample2d(img, self.resample_filter) if self.architecture == "skip" else None
        if self.architecture == "resnet":
            shortcut = self.skip(x, gain=sqrt(0.5))
            return shortcut + self.conv1(self.conv0(x), gain=sqrt(0.5)), img
        return self.conv1(self.conv0(x)), img


class DiscriminatorEpilogue(nn.Module):
    """Turn 4×4 features into `cmap_dim` logits, or into one where `cmap_dim` is 0."""

    def __init__(self, in_channels: int, *, cmap_dim: int, options: DiscriminatorOptions) -> None:
        super().__init__()
        self.resolution = 4
        self.architecture: Architecture = options.architecture
        act = options.activation
        if options.architecture == "skip":
            self.fromrgb = EqualizedConv2d(options.img_channels, in_channels, 1, activation=act)
        statistics = options.mbstd_num_channels
        if statistics > 0:
            self.mbstd = MinibatchStddev(options.mbstd_group_size, statistics)
        self.has_mbstd = statistics > 0
        self.conv = EqualizedConv2d(
            in_channels + statistics, in_channels, 3, activation=act, conv_clamp=options.conv_clamp
        )
        self.fc = EqualizedLinear(in_channels * self.resolution**2, in_channels, activation=act)
        self.out = EqualizedLinear(in_channels, cmap_dim or 1)

    def forward(self, x: Tensor, img: Tensor | None, cmap: Tensor | None) -> Tensor:
        """Return logits [N, 1]; with `cmap` [N, cmap_dim] they are Σ(x·cmap)/√cmap_dim."""
        if self.architecture == "skip":
            x = x + self.fromrgb(img)
        if self.has_mbstd:
            x = self.mbstd(x)
        logits: Tensor = self.out(self.fc(self.conv(x).flatten(1)))
        if cmap is None:
            return logits
        return (logits * cmap).sum(dim=1, keepdim=True) / sqrt(cmap.shape[1])


class StyleGAN2Discriminator(nn.Module):
    """Map images [N, img_channels, R, R] in [-1, 1] and labels c [N, c_dim] to logits [N, 1].

    The arguments and the state's names are those of NVIDIA's checkpoints; `DiscriminatorOptions` says what
    they mean. `block_kwargs` and `epilogue_kwargs` hold more of the same options.
    """

    family = "stylegan2"

    def __init__(
        self,
        c_dim: int,
        img_resolution: int,
        img_channels: int,
        *,
        architecture: str = "resnet",
        channel_base: int = 32768,
        channel_max: int = 512,
        num_fp16_res: int = 0,
        conv_clamp: float | None = None,
        cmap_dim: int | None = None,
        block_kwargs: Config | None = None,
        mapping_kwargs: Config | None = None,
        epilogue_kwargs: Config | None = None,
    ) -> None:
        super().__init__()
        arguments: Config = {
            "c_dim": c_dim,
            "img_resolution": img_resolution,
            "img_channels": img_channels,
            "architecture": architecture,
            "channel_base": channel_base,
            "channel_max": channel_max,
            "num_fp16_res": num_fp16_res,
            "conv_clamp": conv_clamp,
            "cmap_dim": cmap_dim,
        }
        self.config: Config = arguments | {
            "block_kwargs": dict(block_kwargs or {}),
            "mapping_kwargs": dict(mapping_kwargs or {}),
            "epilogue_kwargs": dict(epilogue_kwargs or {}),
        }
        extra = {**(block_kwargs or {}), **(epilogue_kwargs or {})}
        options = read_options(DiscriminatorOptions, arguments | extra, what="StyleGAN2 discriminator")
        self.c_dim = c_dim
        self.resolution = img_resolution
        self.img_resolution = img_resolution
        self.img_channels = img_channels
        self.block_resolutions = [2**i for i in range(int(log2(img_resolution)), 2, -1)]
        self._build(options, {"w_avg_beta": None} | (mapping_kwargs or {}))

    def _build(self, options: DiscriminatorOptions, mapping_kwargs: Config) -> None:
        for resolution in self.block_resolutions:
            width = channels_at(options, resolution)
            in_channels = width if resolution < self.img_resolution else 0
            narrow = channels_at(options, resolution // 2)
            block = DiscriminatorBlock(in_channels, width, narrow, resolution=resolution, options=options)
            self.add_module(f"b{resolution}", block)
        width = channels_at(options, 4)
        cmap_dim = 0
        if self.c_dim > 0:
            cmap_dim = options.cmap_dim or width
            mapping = read_options(
                MappingOptions, mapping_kwargs, what="StyleGAN2 discriminator mapping_kwargs"
            )
            self.mapping = MappingNetwork(0, self.c_dim, cmap_dim, None, options=mapping)
        self.b4 = DiscriminatorEpilogue(width, cmap_dim=cmap_dim, options=options)

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """List the image and, in a conditional network, the one-hot label c."""
        size = self.img_resolution
        image = InputSpec(
            name="img", kind="image", shape=("N", self.img_channels, size, size), low=-1, high=1
        )
        if self.c_dim == 0:
            return (image,)
        return image, InputSpec(name="c", kind="class", shape=("N", self.c_dim), low=0, high=1)

    @property
    def output(self) -> OutputSpec:
        """Describe the logits."""
        return OutputSpec(kind="vector", channels=1)

    def sample_inputs(self, n: int, seed: int) -> dict[str, Tensor]:
        """Draw `n` images (and labels); sample i never depends on `n`."""
        return sample_tensors(self.inputs, n, seed)

    def forward(self, img: Tensor, c: Tensor | None = None) -> Tensor:
        """Return logits [N, 1].

        Raise `UsageError` for images of another shape, or a batch that does not split into groups.
        """
        expected = (self.img_channels, self.img_resolution, self.img_resolution)
        if img.ndim != 4 or img.shape[1:] != expected:
            raise UsageError(f"The image has the shape {list(img.shape)}; the network takes [N, {expected}].")
        x, rest = None, img
        for resolution in self.block_resolutions:
            x, rest = getattr(self, f"b{resolution}")(x, rest)
        cmap = self.mapping(None, c) if self.c_dim > 0 else None
        logits: Tensor = self.b4(x, rest, cmap)
        return logits
