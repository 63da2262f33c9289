"""The Inception v3 whose features define FID (Szegedy et al. 2016, in the 2015-12-05 release).

It differs from the later published Inception v3: average pooling leaves out the padding, the last block pools
by maximum, and there are 1008 classes. Images are 299² and enter as (rgb − 128)/128.
"""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gantune.errors import UnavailableError
from gantune.quality.features import Extracted, FeatureNetwork
from gantune.quality.resize import ResizeMode
from gantune.quality.weights_file import PublishedWeights, check_hash, fetch_weights, load_state, read_state

NAME = "inception-v3-fid"
SIDE = 299
PUBLISHED = PublishedWeights(
    url="https://github.com/mseitzer/pytorch-fid/releases/download/fid_weights/"
    "pt_inception-2015-12-05-6726825d.pth",
    sha256="6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2",
    num_bytes=95_628_359,
)


class FIDInception(nn.Module):
    """Map [N, 3, 299, 299] in [0, 255] to 2048 pooled features and 1008 logits.

    The state's names are those under which the weights are published. The logits leave out the classifier's
    bias, as the Inception score of this network is defined.
    """

    def __init__(self) -> None:
        super().__init__()
        self.Conv2d_1a_3x3 = _Convolution(3, 32, 3, stride=2)
        self.Conv2d_2a_3x3 = _Convolution(32, 32, 3)
        self.Conv2d_2b_3x3 = _Convolution(32, 64, 3, padding=1)
        self.Conv2d_3b_1x1 = _Convolution(64, 80, 1)
        self.Conv2d_4a_3x3 = _Convolution(80, 192, 3)
        self.Mixed_5b = _Mixed5(192, pool_features=32)
        self.Mixed_5c = _Mixed5(256, pool_features=64)
        self.Mixed_5d = _Mixed5(288, pool_features=64)
        self.Mixed_6a = _Reduction6(288)
        self.Mixed_6b = _Mixed6(768, inner=128)
        self.Mixed_6c = _Mixed6(768, inner=160)
        self.Mixed_6d = _Mixed6(768, inner=160)
        self.Mixed_6e = _Mixed6(768, inner=192)
        self.Mixed_7a = _Reduction7(768)
        self.Mixed_7b = _Mixed7(1280, is_last=False)
        self.Mixed_7c = _Mixed7(2048, is_last=True)
        self.fc = nn.Linear(2048, 1008)

    def forward(self, values: Tensor) -> Extracted:
        """Return features [N, 2048] and logits [N, 1008]."""
        x = (values - 128) / 128
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(F.max_pool2d(x, 3, 2)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(F.max_pool2d(x, 3, 2))))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))))
        features = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x))).mean(dim=(2, 3))
        return Extracted(features, features @ self.fc.weight.t())


class _Convolution(nn.Module):
    """Convolution, batch normalization, ReLU."""

    def __init__(
        self,
        before: int,
        after: int,
        kernel: int | tuple[int, int],
        *,
        stride: int = 1,
        padding: int | tuple[int, int] = 0,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, kernel, stride=stride, padding=padding, bias=False)
        self.bn = nn.BatchNorm2d(after, eps=1e-3)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv(x)))


def _average(x: Tensor) -> Tensor:
    return F.avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False)


class _Mixed5(nn.Module):
    """Four branches at 35²: 1×1; 5×5; two of 3×3; pooled."""

    def __init__(self, before: int, *, pool_features: int) -> None:
        super().__init__()
        self.branch1x1 = _Convolution(before, 64, 1)
        self.branch5x5_1 = _Convolution(before, 48, 1)
        self.branch5x5_2 = _Convolution(48, 64, 5, padding=2)
        self.branch3x3dbl_1 = _Convolution(before, 64, 1)
        self.branch3x3dbl_2 = _Convolution(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = _Convolution(96, 96, 3, padding=1)
        self.branch_pool = _Convolution(before, pool_features, 1)

    def forward(self, x: Tensor) -> Tensor:
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        five = self.branch5x5_2(self.branch5x5_1(x))
        return torch.cat([self.branch1x1(x), five, double, self.branch_pool(_average(x))], dim=1)


class _Reduction6(nn.Module):
    """35² → 17²."""

    def __init__(self, before: int) -> None:
        super().__init__()
        self.branch3x3 = _Convolution(before, 384, 3, stride=2)
        self.branch3x3dbl_1 = _Convolution(before, 64, 1)
        self.branch3x3dbl_2 = _Convolution(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = _Convolution(96, 96, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([self.branch3x3(x), double, F.max_pool2d(x, 3, 2)], dim=1)


class _Mixed6(nn.Module):
    """Four branches at 17² with 7×7 factored into 1×7 and 7×1."""

    def __init__(self, before: int, *, inner: int) -> None:
        super().__init__()
        self.branch1x1 = _Convolution(before, 192, 1)
        self.branch7x7_1 = _Convolution(before, inner, 1)
        self.branch7x7_2 = _Convolution(inner, inner, (1, 7), padding=(0, 3))
        self.branch7x7_3 = _Convolution(inner, 192, (7, 1), padding=(3, 0))
        self.branch7x7dbl_1 = _Convolution(before, inner, 1)
        self.branch7x7dbl_2 = _Convolution(inner, inner, (7, 1), padding=(3, 0))
        self.branch7x7dbl_3 = _Convolution(inner, inner, (1, 7), padding=(0, 3))
        self.branch7x7dbl_4 = _Convolution(inner, inner, (7, 1), padding=(3, 0))
        self.branch7x7dbl_5 = _Convolution(inner, 192, (1, 7), padding=(0, 3))
        self.branch_pool = _Convolution(before, 192, 1)

    def forward(self, x: Tensor) -> Tensor:
        single = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        double = self.branch7x7dbl_5(self.branch7x7dbl_4(double))
        return torch.cat([self.branch1x1(x), single, double, self.branch_pool(_average(x))], dim=1)


class _Reduction7(nn.Module):
    """17² → 8²."""

    def __init__(self, before: int) -> None:
        super().__init__()
        self.branch3x3_1 = _Convolution(before, 192, 1)
        self.branch3x3_2 = _Convolution(192, 320, 3, stride=2)
        self.branch7x7x3_1 = _Convolution(before, 192, 1)
        self.branch7x7x3_2 = _Convolution(192, 192, (1, 7), padding=(0, 3))
        self.branch7x7x3_3 = _Convolution(192, 192, (7, 1), padding=(3, 0))
        self.branch7x7x3_4 = _Convolution(192, 192, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        three = self.branch3x3_2(self.branch3x3_1(x))
        seven = self.branch7x7x3_2(self.branch7x7x3_1(x))
        seven = self.branch7x7x3_4(self.branch7x7x3_3(seven))
        return torch.cat([three, seven, F.max_pool2d(x, 3, 2)], dim=1)


class _Mixed7(nn.Module):
    """Four branches at 8² whose 3×3 splits into 1×3 and 3×1; the last one pools by maximum."""

    def __init__(self, before: int, *, is_last: bool) -> None:
        super().__init__()
        self._is_last = is_last
        self.branch1x1 = _Convolution(before, 320, 1)
        self.branch3x3_1 = _Convolution(before, 384, 1)
        self.branch3x3_2a = _Convolution(384, 384, (1, 3), padding=(0, 1))
        self.branch3x3_2b = _Convolution(384, 384, (3, 1), padding=(1, 0))
        self.branch3x3dbl_1 = _Convolution(before, 448, 1)
        self.branch3x3dbl_2 = _Convolution(448, 384, 3, padding=1)
        self.branch3x3dbl_3a = _Convolution(384, 384, (1, 3), padding=(0, 1))
        self.branch3x3dbl_3b = _Convolution(384, 384, (3, 1), padding=(1, 0))
        self.branch_pool = _Convolution(before, 192, 1)

    def forward(self, x: Tensor) -> Tensor:
        single = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        pooled = F.max_pool2d(x, 3, stride=1, padding=1) if self._is_last else _average(x)
        parts = [self.branch1x1(x), self.branch3x3_2a(single), self.branch3x3_2b(single)]
        parts += [self.branch3x3dbl_3a(double), self.branch3x3dbl_3b(double), self.branch_pool(pooled)]
        return torch.cat(parts, dim=1)


def open_fid_inception(
    weights: Path | None,
    *,
    sha256: str | None = None,
    resize: ResizeMode = "clean",
    folder: Path | None = None,
) -> FeatureNetwork:
    """Load the weights at `weights`, which must have the published hash, or the stated `sha256`.

    Without `weights` they are fetched into `folder`; where that is None too, raise `UnavailableError`.
    """
    if weights is None and folder is None:
        raise UnavailableError(
            "FID is not available: it needs the weights of its Inception v3. Name the file with --weights "
            f"({PUBLISHED.url}), allow fetching {PUBLISHED.num_bytes / 1e6:.0f} MB with --download, or use "
            "the features efficientnet-lite0."
        )
    path = weights if weights is not None else fetch_weights(PUBLISHED, folder or Path())
    found = check_hash(path, sha256 or PUBLISHED.sha256)
    module = FIDInception()
    module.eval().requires_grad_(False).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    load_state(module, read_state(path), path=path, what="the FID variant of Inception v3")
    return FeatureNetwork(
        name=NAME,
        weights_sha256=found,
        module=module,
        side=SIDE,
        resize=resize,
    )
