"""Feature networks: pixels → a vector an image, with the name and hash that every score carries."""

import hashlib
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.quality.pixels import Pixels
from gantune.quality.resize import ResizeMode, resize

_IMAGES_AT_A_TIME = 4


class Extracted(NamedTuple):
    """Features [N, K], and the classifier's logits [N, classes] where the network has one."""

    features: Tensor
    logits: Tensor | None


class FeatureModule(Protocol):
    """Take values [N, 3, H, W] in [0, 255], already resized."""

    def __call__(self, values: Tensor) -> Extracted:
        """Return features and logits."""
        ...


@dataclass(frozen=True, kw_only=True)
class FeatureNetwork:
    """A named feature network; `side` is the size it takes, None for any.

    `weights_sha256` identifies what it computes: the same name with other weights is another network.
    """

    name: str
    weights_sha256: str
    module: FeatureModule
    side: int | None = None
    resize: ResizeMode = "clean"

    def __post_init__(self) -> None:
        if not self.name:
            raise UsageError("A feature network has no name; a score needs one to say what it is about.")

    @property
    def resize_identity(self) -> str:
        """Name the resize as a score's identity does."""
        return "none" if self.side is None else f"{self.resize} to {self.side}"

    @torch.inference_mode()
    def extract(self, pixels: Pixels) -> Extracted:
        """Give float32 features [N, K] of `pixels`, and logits where there are any."""
        values = pixels.values.float()
        if self.side is not None:
            values = resize(values, self.side, mode=self.resize)
        # A few images at a time in channels-last: activations stay in the cache and the heap.
        parts = [
            self.module(part.contiguous(memory_format=torch.channels_last))
            for part in torch.split(values, _IMAGES_AT_A_TIME)
        ]
        features = torch.cat([part.features for part in parts])
        logits = [part.logits for part in parts if part.logits is not None]
        if features.ndim != 2 or len(features) != len(pixels):
            raise UsageError(
                f"The feature network {self.name} gave {list(features.shape)} for {len(pixels)} images; "
                "it must give [N, K]."
            )
        return Extracted(features, torch.cat(logits) if logits else None)


class _Plain:
    def __init__(self, module: nn.Module) -> None:
        self._module = module

    def __call__(self, values: Tensor) -> Extracted:
        return Extracted(self._module(values), None)


def module_features(
    name: str, module: nn.Module, *, side: int | None = None, resize: ResizeMode = "clean"
) -> FeatureNetwork:
    """Wrap any module that maps [N, 3, H, W] in [0, 255] to [N, K]; its hash is that of its state."""
    digest = hashlib.sha256()
    for key, tensor in sorted(module.state_dict().items()):
        digest.update(f"{key} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return FeatureNetwork(
        name=name, weights_sha256=digest.hexdigest(), module=_Plain(module.eval()), side=side, resize=resize
    )
