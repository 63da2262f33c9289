"""What modulated_conv2d can be asked for."""

from dataclasses import dataclass

from gantune.errors import UsageError
from gantune.ops.resampled_convolution import ConvolutionOptions

# Keeps the demodulation finite for an all-zero style.
DEMODULATION_EPSILON = 1e-8


@dataclass(frozen=True)
class ModulatedConv2dOptions:
    """How to convolve, and whether to demodulate; `fused_modconv` scales weights instead of activations."""

    convolution: ConvolutionOptions
    demodulate: bool
    fused_modconv: bool

    def __post_init__(self) -> None:
        up, down = self.convolution.up, self.convolution.down
        if up < 1 or down < 1:
            raise UsageError(f"up and down are whole numbers of at least 1, found {up} and {down}")
