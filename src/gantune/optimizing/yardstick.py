"""The image error of a network under training, against the float network on held-out latents."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gantune.networks.contract import Network
from gantune.optimizing.calibration_inputs import draw_calibration_inputs
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.sensitivity import run_network
from gantune.quality.paired import count_non_finite, psnr_db, snr_db

# Neither calibration, selection, nor the test draws these.
YARDSTICK_SEED_OFFSET = 4_000_037
NUM_SAMPLES = 32


@dataclass(frozen=True)
class ImageError:
    """The mean squared error, infinite where images are not finite, and the error as the run's gate takes it.

    `error_db` is None where the images are identical, or not finite.
    """

    mean_square: float
    error_db: float | None


class Yardstick:
    """Hold inputs with the float network's images, and measure other networks by them."""

    def __init__(self, network: nn.Module, run: QuantizationRun) -> None:
        assert isinstance(network, Network)
        self.run = run
        self.value_range = network.output.value_range
        batches = draw_calibration_inputs(
            network,
            num_samples=NUM_SAMPLES,
            seed=run.seed + YARDSTICK_SEED_OFFSET,
            pictures=run.pictures,
            image_size=run.image_size,
        )
        self.inputs: Sequence[dict[str, Tensor]] = list(batches)
        self.expected = self._images(network)

    @property
    def spread(self) -> float:
        """Give the root mean square distance of the float network's images from their average."""
        return float((self.expected - self.expected.mean(axis=0)).std(dtype=np.float64))

    def measure(self, network: nn.Module) -> ImageError:
        """Compare a network's images with the float network's."""
        found = self._images(network)
        if count_non_finite(found):
            return ImageError(float("inf"), None)
        mean_square = float(np.square(found.astype(np.float64) - self.expected).mean())
        if self.run.image_error == "snr":
            return ImageError(mean_square, snr_db(found, self.expected))
        return ImageError(mean_square, psnr_db(found, self.expected, value_range=self.value_range))

    def _images(self, network: nn.Module) -> NDArray[np.float32]:
        was_training = network.training
        network.eval()
        try:
            with torch.inference_mode():
                return np.concatenate([run_network(network, batch) for batch in self.inputs])
        finally:
            network.train(was_training)
