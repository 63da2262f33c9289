"""LPIPS on VGG-16 (Zhang et al. 2018): the learned perceptual distance of two images, and PPL's measure."""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gantune.errors import CheckpointError, UsageError
from gantune.quality.pixels import Pixels
from gantune.quality.weights_file import check_hash, load_state, read_state

# Convolutions of VGG-16 by their index in its list of layers; a distance is taken after the marked ones.
_CONVOLUTIONS = (
    (0, 3, 64, False), (2, 64, 64, True),
    (5, 64, 128, False), (7, 128, 128, True),
    (10, 128, 256, False), (12, 256, 256, False), (14, 256, 256, True),
    (17, 256, 512, False), (19, 512, 512, False), (21, 512, 512, True),
    (24, 512, 512, False), (26, 512, 512, False), (28, 512, 512, True),
)  # fmt: skip
_POOLED_BEFORE = (5, 10, 17, 24)
# The paper's normalization of values in [−1, 1].
_SHIFT = (-0.030, -0.088, -0.188)
_SCALE = (0.458, 0.448, 0.450)


class LPIPS(nn.Module):
    """Give the distance [N] of two sets of pixels, pairwise; 0 for equal images, never negative.

    `weights_sha256` joins the hashes of VGG-16's weights and of the learned channel weights.
    """

    def __init__(self, weights_sha256: str = "") -> None:
        super().__init__()
        self.weights_sha256 = weights_sha256
        self.features = nn.ModuleDict(
            {str(i): nn.Conv2d(before, after, 3, padding=1) for i, before, after, _ in _CONVOLUTIONS}
        )
        widths = [after for _, _, after, is_marked in _CONVOLUTIONS if is_marked]
        self.lins = nn.ParameterList([nn.Parameter(torch.ones(1, width, 1, 1)) for width in widths])

    @torch.no_grad()
    def forward(self, a: Pixels, b: Pixels) -> Tensor:
        """Return [N]; raise `UsageError` where the sizes differ."""
        if a.values.shape != b.values.shape:
            raise UsageError(
                f"LPIPS compares images of one size; found {list(a.values.shape)} and {list(b.values.shape)}"
            )
        total = torch.zeros(len(a), dtype=a.values.dtype)
        for left, right, weight in zip(self._stages(a), self._stages(b), self.lins, strict=True):
            difference = (_unit(left) - _unit(right)).square()
            total = total + (difference * weight.to(difference.dtype)).sum(dim=1).mean(dim=(1, 2))
        return total

    def _stages(self, pixels: Pixels) -> list[Tensor]:
        values = pixels.values
        shift, scale = values.new_tensor(_SHIFT), values.new_tensor(_SCALE)
        x = (values / 127.5 - 1 - shift[:, None, None]) / scale[:, None, None]
        stages = []
        for index, _, _, is_marked in _CONVOLUTIONS:
            if index in _POOLED_BEFORE:
                x = F.max_pool2d(x, 2)
            x = F.relu(self.features[str(index)](x))
            if is_marked:
                stages.append(x)
        return stages


def _unit(x: Tensor) -> Tensor:
    return x / (x.square().sum(dim=1, keepdim=True).sqrt() + 1e-10)


def open_lpips(vgg: Path, linear: Path) -> LPIPS:
    """Load VGG-16's published ImageNet weights and LPIPS's own; raise `CheckpointError` for other files."""
    network = LPIPS(weights_sha256=f"{check_hash(vgg, None)}+{check_hash(linear, None)}")
    load_state(network.features, _rename_features(read_state(vgg)), path=vgg, what="VGG-16")
    channel_weights = {
        f"{index}": tensor
        for name, tensor in read_state(linear).items()
        if (index := _lin_index(name)) is not None
    }
    load_state(network.lins, channel_weights, path=linear, what="LPIPS's weights for VGG-16")
    if any(bool((weight < 0).any()) for weight in network.lins):
        raise CheckpointError(f"{linear} holds negative weights; a distance must never be below 0.")
    return network.eval().requires_grad_(False)


def _rename_features(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix("features."): tensor for name, tensor in state.items()}


def _lin_index(name: str) -> int | None:
    """Read 2 from `lin2.model.1.weight`; None for other names."""
    digits = name.removeprefix("lin").split(".", 1)[0]
    return int(digits) if name.startswith("lin") and digits.isdecimal() else None
