"""Quantization: grids, calibration, and layers that compute in float32 what integers would."""

from gantune.transforms.quantize.calibration import Calibration, LayerRecord, calibrate
from gantune.transforms.quantize.equalization import equalize
from gantune.transforms.quantize.insertion import has_rounded_activations, is_quantized, quantize
from gantune.transforms.quantize.options import (
    FLOAT,
    WEIGHTS_ONLY,
    EngineName,
    LayerBits,
    QuantizeOptions,
    choose_bits,
)
from gantune.transforms.quantize.quantized_layer import FakeQuantize, rounding_off
from gantune.transforms.quantize.scheme import Scheme
from gantune.transforms.quantize.trainable import make_trainable, put_on_grids

__all__ = [
    "FLOAT",
    "WEIGHTS_ONLY",
    "Calibration",
    "EngineName",
    "FakeQuantize",
    "LayerBits",
    "LayerRecord",
    "QuantizeOptions",
    "Scheme",
    "calibrate",
    "choose_bits",
    "equalize",
    "has_rounded_activations",
    "is_quantized",
    "make_trainable",
    "put_on_grids",
    "quantize",
    "rounding_off",
]
