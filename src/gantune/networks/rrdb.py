"""RRDB: the super-resolution generator of ESRGAN and Real-ESRGAN (residual-in-residual dense blocks)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gantune.networks.contract import Config, sample_tensors
from gantune.records.interface import InputSpec, OutputSpec

_SLOPE = 0.2
_RESIDUAL_SCALE = 0.2


class RRDBGenerator(nn.Module):
    """Enlarge an image with densely connected convolutions at low resolution and nearest ×2 steps at the end.

    The scale is 2^num_upsamplings / unshuffle: networks for small scales first fold `unshuffle` × `unshuffle`
    pixels into channels (Real-ESRGAN's ×2 has unshuffle 2 and two upsamplings). An image whose sides are no
    multiple of `unshuffle` is extended by reflection and cut back. Parameters carry the published names
    (`conv_first`, `body.B.rdbR.convK`, `conv_body`, `conv_up1` …, `conv_hr`, `conv_last`).
    Source: Wang et al., ESRGAN, arXiv 1809.00219; Real-ESRGAN, arXiv 2107.10833.
    """

    family = "rrdb"

    def __init__(
        self,
        *,
        img_channels: int = 3,
        num_feat: int = 64,
        num_block: int = 23,
        num_grow_ch: int = 32,
        num_upsamplings: int = 2,
        unshuffle: int = 1,
    ) -> None:
        super().__init__()
        self.config: Config = {
            "img_channels": img_channels,
            "num_feat": num_feat,
            "num_block": num_block,
            "num_grow_ch": num_grow_ch,
            "num_upsamplings": num_upsamplings,
            "unshuffle": unshuffle,
        }
        self.img_channels = img_channels
        self.unshuffle = unshuffle
        self.upscale = 2**num_upsamplings // unshuffle
        self.conv_first = _convolution(img_channels * unshuffle**2, num_feat)
        self.body = nn.Sequential(*(ResidualDenseGroup(num_feat, num_grow_ch) for _ in range(num_block)))
        self.conv_body = _convolution(num_feat, num_feat)
        self.up_names = [f"conv_up{step + 1}" for step in range(num_upsamplings)]
        for name in self.up_names:
            self.add_module(name, _convolution(num_feat, num_feat))
        self.conv_hr = _convolution(num_feat, num_feat)
        self.conv_last = _convolution(num_feat, img_channels)

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """List the one input: `image` [N, C, H, W] in [0, 1]."""
        shape = ("N", self.img_channels, "H", "W")
        return (InputSpec(name="image", kind="image", shape=shape, low=0.0, high=1.0),)

    @property
    def output(self) -> OutputSpec:
        """Describe the enlarged image [N, C, upscale·H, upscale·W]: made for [0, 1], not clamped to it."""
        return OutputSpec(kind="image", channels=self.img_channels, low=0.0, high=1.0)

    def sample_inputs(self, n: int, seed: int) -> dict[str, Tensor]:
        """Draw `n` smooth random images."""
        return sample_tensors(self.inputs, n, seed)

    def forward(self, image: Tensor) -> Tensor:
        """Enlarge `image` [N, C, H, W] in [0, 1] `upscale` times; with `unshuffle` from 4 pixels a side."""
        if self.unshuffle == 1:
            return self._enlarge(image)
        height, width = image.shape[2:]
        extra = (0, -width % self.unshuffle, 0, -height % self.unshuffle)
        folded = F.pixel_unshuffle(F.pad(image, extra, mode="reflect"), self.unshuffle)
        return self._enlarge(folded)[:, :, : height * self.upscale, : width * self.upscale]

    def _enlarge(self, image: Tensor) -> Tensor:
        first = self.conv_first(image)
        features = first + self.conv_body(self.body(first))
        for name in self.up_names:
            enlarged = F.interpolate(features, scale_factor=2.0, mode="nearest")
            features = F.leaky_relu(self.get_submodule(name)(enlarged), _SLOPE)
        result: Tensor = self.conv_last(F.leaky_relu(self.conv_hr(features), _SLOPE))
        return result


class ResidualDenseGroup(nn.Module):
    """Chain three dense blocks, scale what they change, and add the input [N, num_feat, H, W]."""

    def __init__(self, num_feat: int, num_grow_ch: int) -> None:
        super().__init__()
        self.rdb1 = DenseBlock(num_feat, num_grow_ch)
        self.rdb2 = DenseBlock(num_feat, num_grow_ch)
        self.rdb3 = DenseBlock(num_feat, num_grow_ch)

    def forward(self, x: Tensor) -> Tensor:
        """Return x + 0.2 · change."""
        change: Tensor = self.rdb3(self.rdb2(self.rdb1(x)))
        return change * _RESIDUAL_SCALE + x


class DenseBlock(nn.Module):
    """Apply five 3×3 convolutions, each reading the block's input and all results before it."""

    def __init__(self, num_feat: int, num_grow_ch: int) -> None:
        super().__init__()
        self.conv1 = _convolution(num_feat, num_grow_ch)
        self.conv2 = _convolution(num_feat + num_grow_ch, num_grow_ch)
        self.conv3 = _convolution(num_feat + 2 * num_grow_ch, num_grow_ch)
        self.conv4 = _convolution(num_feat + 3 * num_grow_ch, num_grow_ch)
        self.conv5 = _convolution(num_feat + 4 * num_grow_ch, num_feat)

    def forward(self, x: Tensor) -> Tensor:
        """Return x + 0.2 · the fifth convolution."""
        features = [x, F.leaky_relu(self.conv1(x), _SLOPE)]
        for convolution in (self.conv2, self.conv3, self.conv4):
            features.append(F.leaky_relu(convolution(torch.cat(features, 1)), _SLOPE))
        change: Tensor = self.conv5(torch.cat(features, 1))
        return change * _RESIDUAL_SCALE + x


def _convolution(width_in: int, width_out: int) -> nn.Conv2d:
    return nn.Conv2d(width_in, width_out, 3, padding=1)
