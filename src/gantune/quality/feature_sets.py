"""Features of many images: moments of all of them, and the vectors of those that are kept."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gantune.errors import UsageError
from gantune.quality.features import FeatureNetwork
from gantune.quality.image_sources import ImageSource, read_batches
from gantune.quality.moments import Moments
from gantune.quality.pixels import pixels_from_output


@dataclass(frozen=True)
class FeatureSet:
    """The moments of all images, and features [M, K] and logits [M, classes] of the first M."""

    moments: Moments
    features: Tensor
    logits: Tensor | None

    @property
    def n(self) -> int:
        """Count all images."""
        return self.moments.n


def gather_features(
    source: ImageSource, network: FeatureNetwork, *, start: int, stop: int, batch: int, num_kept: int
) -> FeatureSet:
    """Run images start to stop − 1 through the network, one batch at a time.

    Memory grows with `num_kept`, never with the number of images.
    """
    if stop - start < 2:
        raise UsageError(f"{stop - start} image was asked for; a distribution needs at least 2.")
    moments: Moments | None = None
    kept: list[Tensor] = []
    kept_logits: list[Tensor] = []
    for images in read_batches(source, start, stop, batch=batch):
        features, logits = network.extract(pixels_from_output(images, source.output))
        if moments is None:
            moments = Moments(features.shape[1])
        room = max(0, num_kept - moments.n)
        moments.update(features)
        if room:
            kept.append(features[:room].clone())
            kept_logits += [] if logits is None else [logits[:room].clone()]
    assert moments is not None
    width = moments.num_features
    return FeatureSet(
        moments=moments,
        features=torch.cat(kept) if kept else torch.zeros(0, width),
        logits=torch.cat(kept_logits) if kept_logits else None,
    )
