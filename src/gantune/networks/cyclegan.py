"""The ResNet generator of CycleGAN, which pix2pix and many image translators after it use too."""

from typing import Literal

from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.networks.contract import Config, sample_tensors
from gantune.records.interface import InputSpec, OutputSpec

Norm = Literal["instance", "instance_affine", "batch"]


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions with reflected borders, added to their input."""

    def __init__(self, width: int, *, norm: Norm, dropout: bool) -> None:
        super().__init__()
        has_bias = norm != "batch"
        self.conv_block = nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.Conv2d(width, width, 3, bias=has_bias),
            _build_norm(norm, width),
            nn.ReLU(),
            *([nn.Dropout(0.5)] if dropout else []),
            nn.ReflectionPad2d(1),
            nn.Conv2d(width, width, 3, bias=has_bias),
            _build_norm(norm, width),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return x [N, width, H, W] plus what the block makes of it."""
        y: Tensor = x + self.conv_block(x)
        return y


class CycleGANGenerator(nn.Module):
    """Translate an image: down twice, residual blocks at a quarter of its size, up again.

    `num_feat` is the width at full size, doubled at each step down; parameters carry the published names
    (`model.1.…`, `model.10.conv_block.1.…`). Source: Zhu et al., CycleGAN, arXiv 1703.10593, appendix 7.2;
    Johnson et al., arXiv 1603.08155.
    """

    family = "cyclegan"

    def __init__(
        self,
        *,
        img_channels: int = 3,
        out_channels: int = 3,
        num_feat: int = 64,
        num_block: int = 9,
        num_downsamplings: int = 2,
        norm: Norm = "instance",
        dropout: bool = False,
    ) -> None:
        super().__init__()
        self.config: Config = {
            "img_channels": img_channels,
            "out_channels": out_channels,
            "num_feat": num_feat,
            "num_block": num_block,
            "num_downsamplings": num_downsamplings,
            "norm": norm,
            "dropout": dropout,
        }
        self.img_channels = img_channels
        self.out_channels = out_channels
        has_bias = norm != "batch"
        layers: list[nn.Module] = [
            nn.ReflectionPad2d(3),
            nn.Conv2d(img_channels, num_feat, 7, bias=has_bias),
            _build_norm(norm, num_feat),
            nn.ReLU(),
        ]
        widths = [num_feat * 2**step for step in range(num_downsamplings + 1)]
        for width in widths[:-1]:
            down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1, bias=has_bias)
            layers += [down, _build_norm(norm, 2 * width), nn.ReLU()]
        layers += [ResidualBlock(widths[-1], norm=norm, dropout=dropout) for _ in range(num_block)]
        for width in reversed(widths[:-1]):
            up = nn.ConvTranspose2d(2 * width, width, 3, stride=2, padding=1, output_padding=1, bias=has_bias)
            layers += [up, _build_norm(norm, width), nn.ReLU()]
        layers += [nn.ReflectionPad2d(3), nn.Conv2d(num_feat, out_channels, 7), nn.Tanh()]
        self.model = nn.Sequential(*layers)

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """List the one input: `image` [N, C, H, W] in [-1, 1]."""
        shape = ("N", self.img_channels, "H", "W")
        return (InputSpec(name="image", kind="image", shape=shape, low=-1.0, high=1.0),)

    @property
    def output(self) -> OutputSpec:
        """Describe the image [N, out_channels, H, W] in [-1, 1]; sizes are rounded up to multiples of 4."""
        return OutputSpec(kind="image", channels=self.out_channels)

    def sample_inputs(self, n: int, seed: int) -> dict[str, Tensor]:
        """Draw `n` smooth random images."""
        return sample_tensors(self.inputs, n, seed)

    def forward(self, image: Tensor) -> Tensor:
        """Translate `image` [N, C, H, W] in [-1, 1]; H and W are at least 8."""
        translated: Tensor = self.model(image)
        return translated


def _build_norm(norm: str, width: int) -> nn.Module:
    if norm == "batch":
        return nn.BatchNorm2d(width)
    if norm in ("instance", "instance_affine"):
        return nn.InstanceNorm2d(width, affine=norm == "instance_affine")
    raise UsageError(f"There is no CycleGAN norm {norm!r}; there are: instance, instance_affine, batch.")
