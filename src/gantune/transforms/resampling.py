"""Choose the form of StyleGAN2's up-convolutions: which one is fastest depends on the engine."""

from torch import nn

from gantune.errors import UnsupportedError
from gantune.transforms.module_tree import NetworkT, copy_network, replace_modules
from gantune.transforms.up_convolution import Form, UpConvolution


def resampling(network: NetworkT, form: Form) -> NetworkT:
    """Return a copy whose up-convolutions have the given form (see `UpConvolution`); exact.

    Raise `UnsupportedError` where there is no up-convolution with constant weights, which
    `static_modulation` makes.
    """
    copied = copy_network(network)
    assert isinstance(copied, nn.Module)

    def rebuild(module: nn.Module) -> nn.Module | None:
        return UpConvolution(*module.original, form) if isinstance(module, UpConvolution) else None

    if not replace_modules(copied, rebuild):
        raise UnsupportedError(
            "The network has no up-convolution with constant weights (where it is a style network, apply "
            "static_modulation first); leave resampling out."
        )
    return copied
