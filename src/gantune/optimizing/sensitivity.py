"""How much each layer's rounding changes the image, found without labels.

One layer at a time gets the bits in question, weights and activations apart, everything else stays float32;
the images are compared with the float network's on the same inputs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.networks.contract import Network
from gantune.quality.paired import compare_images
from gantune.records.quantization import LayerSensitivity, SensitivityTable
from gantune.transforms.quantize import FLOAT, Calibration, LayerBits, QuantizeOptions, quantize

Part = Literal["weights", "activations"]
PARTS: tuple[Part, ...] = ("weights", "activations")


def measure_sensitivity(
    network: nn.Module,
    calibration: Calibration,
    inputs: Mapping[str, Tensor],
    *,
    bits: Sequence[int] = (8, 4),
    parts: Sequence[Part] = PARTS,
    options: QuantizeOptions | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
) -> SensitivityTable:
    """Measure every layer, part and number of bits on `inputs`, a batch of every input of the network.

    Raise `UsageError` where no bits are named.
    """
    if not bits:
        raise UsageError("No bits to analyze were named; name some of 1 to 8 and 16.")
    assert isinstance(network, Network)
    expected = run_network(network, inputs)
    options = options or QuantizeOptions()
    rows = []
    for name in calibration.layers:
        on_progress(f"analyzing {name}")
        for number in bits:
            for part in parts:
                changed = LayerBits(number, None) if part == "weights" else LayerBits(None, number)
                found = run_with(network, calibration, {name: changed}, inputs, options)
                rows.append(
                    _describe(name, part, number, found, expected, value_range=network.output.value_range)
                )
    num_samples = int(expected.shape[0])
    return SensitivityTable(family=network.family, num_samples=num_samples, rows=tuple(rows))


def _describe(
    name: str,
    part: Part,
    number: int,
    found: NDArray[np.float32],
    expected: NDArray[np.float32],
    *,
    value_range: float,
) -> LayerSensitivity:
    quality = compare_images(found, expected, value_range=value_range)
    error = float(np.square(found.astype(np.float64) - expected).mean())
    return LayerSensitivity(
        layer=name,
        part=part,
        bits=number,
        mean_square=error,
        psnr_db=quality.psnr_db,
        snr_db=quality.snr_db,
        ssim=quality.ssim,
        spectrum_db=quality.spectrum_db,
    )


def run_network(network: nn.Module, inputs: Mapping[str, Tensor]) -> NDArray[np.float32]:
    """Run a network on a batch of inputs."""
    with torch.inference_mode():
        output: Tensor = network(**inputs)
    array: NDArray[np.float32] = output.numpy()
    return array


def run_with(
    network: nn.Module,
    calibration: Calibration,
    bits: Mapping[str, LayerBits],
    inputs: Mapping[str, Tensor],
    options: QuantizeOptions,
) -> NDArray[np.float32]:
    """Run a network whose layers have `bits`, and float32 where none are named."""
    chosen = {name: bits.get(name, FLOAT) for name in calibration.layers}
    return run_network(quantize(network, calibration, replace(options, bits=chosen)), inputs)
