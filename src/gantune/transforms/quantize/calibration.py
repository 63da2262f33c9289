"""Run a network on calibration inputs and remember what its dense layers meet, in constant memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from gantune.errors import UsageError
from gantune.transforms.quantize.layers import DenseLayer, Kind, find_dense_layers
from gantune.transforms.quantize.statistics import TensorStatistics
from gantune.transforms.up_convolution import UpConvolution

MIN_SAMPLES = 8
Batch = Mapping[str, Tensor]


@dataclass
class LayerRecord:
    """What calibration saw of one layer: `macs` are of one sample, `channel_means` of its input."""

    name: str
    kind: Kind
    macs: int = 0
    num_weights: int = 0
    input: TensorStatistics = field(default_factory=TensorStatistics)
    output: TensorStatistics = field(default_factory=TensorStatistics)
    channel_means: Tensor = field(default_factory=lambda: torch.zeros(0))
    channel_peaks: Tensor = field(default_factory=lambda: torch.zeros(0))


@dataclass(frozen=True)
class Calibration:
    """The records of a network's dense layers, in the order in which they run, and how many samples ran."""

    layers: dict[str, LayerRecord]
    num_samples: int


def calibrate(network: nn.Module, batches: Iterable[Batch]) -> Calibration:
    """Run every batch, one at a time, and drop it again; layers that never run are not recorded.

    Raise `UsageError` for fewer than 8 samples, and for NaN or infinity on the way.
    """
    dense = find_dense_layers(network)
    records: dict[str, LayerRecord] = {}
    num_samples = 0
    handles = [_watch(layer, records) for layer in dense.values()]
    try:
        with torch.inference_mode():
            for batch in batches:
                network(**batch)
                num_samples += max((len(tensor) for tensor in batch.values() if tensor.ndim), default=1)
    finally:
        for handle in handles:
            handle.remove()
    if num_samples < MIN_SAMPLES:
        raise UsageError(
            f"Calibration got {num_samples} samples; it needs at least {MIN_SAMPLES} to know the ranges."
        )
    return Calibration(records, num_samples)


def _watch(layer: DenseLayer, records: dict[str, LayerRecord]) -> RemovableHandle:
    def record(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        (x,) = inputs
        y = module.convolve_densely(x) if isinstance(module, UpConvolution) else output
        found = records.setdefault(layer.name, LayerRecord(layer.name, layer.kind))
        found.macs = layer.count_macs(x, y)
        found.num_weights = layer.weight.numel()
        found.input.observe(x)
        found.output.observe(y)
        _update_channels(found, x)

    return layer.module.register_forward_hook(record)


def _update_channels(record: LayerRecord, x: Tensor) -> None:
    rows = x.transpose(0, 1).flatten(1) if x.ndim == 4 else x.reshape(-1, x.shape[-1]).t()
    means, peaks = rows.mean(dim=1).float(), rows.abs().amax(dim=1).float()
    if record.channel_means.numel() == 0:
        record.channel_means, record.channel_peaks = means, peaks
        return
    record.channel_means += (means - record.channel_means) / record.input.num_batches
    record.channel_peaks = torch.maximum(record.channel_peaks, peaks)
