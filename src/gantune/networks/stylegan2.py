"""The StyleGAN2 generator: a mapping network and a synthesis network (arXiv 1912.04958, 2006.06676)."""

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from gantune.networks.contract import Config, sample_tensors
from gantune.networks.options import plain_values, read_options
from gantune.networks.stylegan2_options import SynthesisOptions
from gantune.networks.stylegan2_synthesis import NoiseMode, SynthesisNetwork
from gantune.networks.stylegan_mapping import MappingNetwork, MappingOptions, mapping_inputs
from gantune.records.interface import InputSpec, OutputSpec


class StyleGAN2Generator(nn.Module):
    """Map z [N, z_dim] and c [N, c_dim] to images [N, img_channels, R, R] in [-1, 1].

    The arguments and the state's names are those of NVIDIA's checkpoints; `SynthesisOptions` and
    `MappingOptions` say what they mean. The older nested form, `synthesis_kwargs`, overrides the flat one.
    """

    family = "stylegan2"

    def __init__(
        self,
        z_dim: int,
        c_dim: int,
        w_dim: int,
        img_resolution: int,
        img_channels: int,
        mapping_kwargs: Config | None = None,
        synthesis_kwargs: Config | None = None,
        *,
        channel_base: int = 32768,
        channel_max: int = 512,
        num_fp16_res: int = 0,
        conv_clamp: float | None = None,
        architecture: str = "skip",
        resample_filter: Sequence[float] = (1, 3, 3, 1),
        kernel_size: int = 3,
        activation: str = "lrelu",
        use_noise: bool = True,
        fp16_channels_last: bool = False,
        fused_modconv_default: bool | str = True,
    ) -> None:
        super().__init__()
        shape = {
            "w_dim": w_dim,
            "img_resolution": img_resolution,
            "img_channels": img_channels,
            "channel_base": channel_base,
            "channel_max": channel_max,
            "num_fp16_res": num_fp16_res,
            "conv_clamp": conv_clamp,
            "architecture": architecture,
            "resample_filter": tuple(resample_filter),
            "kernel_size": kernel_size,
            "activation": activation,
            "use_noise": use_noise,
            "fp16_channels_last": fp16_channels_last,
            "fused_modconv_default": fused_modconv_default,
            **(synthesis_kwargs or {}),
        }
        options = read_options(SynthesisOptions, shape, what="StyleGAN2 synthesis")
        mapping = read_options(MappingOptions, mapping_kwargs, what="StyleGAN2 mapping_kwargs")
        self.z_dim = z_dim
        self.c_dim = c_dim
        self.w_dim = w_dim
        self.resolution = img_resolution
        self.img_resolution = img_resolution
        self.img_channels = img_channels
        self.synthesis = SynthesisNetwork(options)
        self.num_ws = self.synthesis.num_ws
        self.mapping = MappingNetwork(z_dim, c_dim, w_dim, self.num_ws, options=mapping)
        latents: Config = {"z_dim": z_dim, "c_dim": c_dim}
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

    def noise_inputs(self) -> dict[str, InputSpec]:
        """Describe the noise that an export may take as inputs: layer name ("b8.conv0") to specification."""
        return {
            layer: InputSpec(name=f"noise_{layer.replace('.', '_')}", kind="noise", shape=("N", *shape[1:]))
            for layer, shape in self.synthesis.noise_shapes().items()
        }

    def forward(
        self,
        z: Tensor,
        c: Tensor | None = None,
        truncation_psi: float | Tensor = 1,
        truncation_cutoff: int | None = None,
        noise_mode: NoiseMode = "const",
        *,
        noise: Mapping[str, Tensor] | None = None,
        update_emas: bool = False,
    ) -> Tensor:
        """Return images; `noise` and `update_emas` are those of the synthesis and the mapping network."""
        ws: Tensor = self.mapping(z, c, truncation_psi, truncation_cutoff, update_emas=update_emas)
        image: Tensor = self.synthesis(ws, noise_mode, noise)
        return image
