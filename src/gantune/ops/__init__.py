"""The operations at the heart of StyleGAN2 and 3, each in several forms that compute the same."""

from gantune.ops.bias_act import bias_act
from gantune.ops.choose import use_implementation
from gantune.ops.filtered_lrelu import filtered_lrelu
from gantune.ops.grid_sample import grid_sample
from gantune.ops.install import install, uninstall
from gantune.ops.modulated_conv2d import modulated_conv2d
from gantune.ops.resampling_filter import setup_filter
from gantune.ops.upfirdn2d import downsample2d, filter2d, upfirdn2d, upsample2d

__all__ = [
    "bias_act",
    "downsample2d",
    "filter2d",
    "filtered_lrelu",
    "grid_sample",
    "install",
    "modulated_conv2d",
    "setup_filter",
    "uninstall",
    "upfirdn2d",
    "upsample2d",
    "use_implementation",
]
