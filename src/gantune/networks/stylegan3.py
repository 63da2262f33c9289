"""The StyleGAN3 generator, T and R: mapping and alias-free synthesis (arXiv 2106.12423)."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from gantune.networks.contract import Config, sample_tensors
from gantune.networks.options import plain_values, read_options
from gantune.networks.stylegan2_synthesis import NoiseMode
from gantune.networks.stylegan3_bands import AliasFreeOptions
from gantune.networks.stylegan3_synthesis import AliasFreeLayer, AliasFreeSynthesis
from gantune.networks.stylegan_mapping import MappingNetwork, MappingOptions, mapping_inputs
from gantune.records.interface import InputSpec, OutputSpec


class StyleGAN3Generator(nn.Module):
    """Map z [N, z_dim] and c [N, c_dim] to images [N, img_channels, R, R] in [-1, 1].

    The arguments and the state's names are those of NVIDIA's checkpoints; `AliasFreeOptions` and
    `MappingOptions` say what they mean. R is `conv_kernel=1, use_radial_filters=True`.
    """

    family = "stylegan3"

    def __init__(
        self,
        z_dim: int,
        c_dim: int,
        w_dim: int,
        img_resolution: int,
        img_channels: int,
        mapping_kwargs: Config | None = None,
        *,
        channel_base: int = 32768,
        channel_max: int = 512,
        num_layers: int = 14,
        num_critical: int = 2,
        first_cutoff: float = 2.0,
        first_stopband: float = 2**2.1,
        last_stopband_rel: float = 2**0.3,
        margin_size: int = 10,
        output_scale: float = 0.25,
        num_fp16_res: int = 0,
        conv_kernel: int = 3,
        filter_size: int = 6,
        lrelu_upsampling: int = 2,
        use_radial_filters: bool = False,
        conv_clamp: float | None = 256.0,
        magnitude_ema_beta: float = 0.999,
    ) -> None:
        super().__init__()
        shape: Config = {
            "w_dim": w_dim,
            "img_resolution": img_resolution,
            "img_channels": img_channels,
            "channel_base": channel_base,
            "channel_max": channel_max,
            "num_layers": num_layers,
            "num_critical": num_critical,
            "first_cutoff": first_cutoff,
            "first_stopband": first_stopband,
            "last_stopband_rel": last_stopband_rel,
            "margin_size": margin_size,
            "output_scale": output_scale,
            "num_fp16_res": num_fp16_res,
            "conv_kernel": conv_kernel,
            "filter_size": filter_size,
            "lrelu_upsampling": lrelu_upsampling,
            "use_radial_filters": use_radial_filters,
            "conv_clamp": conv_clamp,
            "magnitude_ema_beta": magnitude_ema_beta,
        }
        self.z_dim, self.c_dim, self.w_dim = z_dim, c_dim, w_dim
        self.resolution = self.img_resolution = img_resolution
        self.img_channels = img_channels
        self._build(shape, {"num_layers": 2} | (mapping_kwargs or {}))

    def _build(self, shape: Config, mapping_kwargs: Config) -> None:
        options = read_options(AliasFreeOptions, shape, what="StyleGAN3 synthesis")
        mapping = read_options(MappingOptions, mapping_kwargs, what="StyleGAN3 mapping_kwargs")
        self.synthesis = AliasFreeSynthesis(options)
        self.num_ws = self.synthesis.num_ws
        self.mapping = MappingNetwork(self.z_dim, self.c_dim, self.w_dim, self.num_ws, options=mapping)
        latents: Config = {"z_dim": self.z_dim, "c_dim": self.c_dim}
        self.config: Config = latents | plain_values(options) | {"mapping_kwargs": plain_values(mapping)}

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """List z and, in a conditional network, the one-hot label c."""
        return mapping_inputs(self.z_dim, self.c_dim)

    @property
    def output(self) -> OutputSpec:
        """Describe the image."""
        return OutputSpec(kind="image", channels=self.img_channels)

    def sample_inputs(self, n: int, seed: int) -> dict[str, Tensor]:
        """Draw `n` latents (and labels); sample i never depends on `n`."""
        return sample_tensors(self.inputs, n, seed)

    def forward(
        self,
        z: Tensor,
        c: Tensor | None = None,
        truncation_psi: float | Tensor = 1,
        truncation_cutoff: int | None = None,
        noise_mode: NoiseMode = "const",
        *,
        update_emas: bool = False,
    ) -> Tensor:
        """Return images; `update_emas` moves the average w and the layers' magnitudes."""
        ws: Tensor = self.mapping(z, c, truncation_psi, truncation_cutoff, update_emas=update_emas)
        image: Tensor = self.synthesis(ws, noise_mode, update_emas=update_emas)
        return image


@torch.no_grad()
def calibrate_magnitudes(network: StyleGAN3Generator, seed: int, *, n: int = 2) -> None:
    """Set each layer's `magnitude_ema` from `n` samples, in place, as training would have.

    Without it a network with random weights keeps magnitudes of 1, and its images grow from layer to layer.
    """
    with _measured_magnitudes(network):
        network(**network.sample_inputs(n, seed))


@contextmanager
def _measured_magnitudes(network: StyleGAN3Generator) -> Iterator[None]:
    def measure(layer: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        assert isinstance(layer, AliasFreeLayer)
        layer.magnitude_ema.copy_(arguments[0].square().mean())

    layers = [module for module in network.modules() if isinstance(module, AliasFreeLayer)]
    hooks = [layer.register_forward_pre_hook(measure) for layer in layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
