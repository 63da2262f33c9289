"""Move modulation from weights to activations, so that every convolution has a constant weight.

conv(x, w·s)·d equals conv(x·s, w)·d: styles s scale the input's channels, and the demodulation
d = rsqrt(Σ (w·s)² + ε) = rsqrt(s²·ΣW² + ε) scales the output's (Karras et
al., arXiv 1912.04958, section 2.2).
One weight serves a batch.
"""

from typing import cast

from torch import nn

from gantune.errors import UnsupportedError
from gantune.networks.stylegan2_synthesis import ModulatedLayer, ToRgbLayer
from gantune.networks.stylegan3_synthesis import AliasFreeLayer
from gantune.transforms.module_tree import NetworkT, copy_network, replace_modules
from gantune.transforms.static_alias_free import StaticAliasFreeLayer
from gantune.transforms.static_layers import StaticModulatedLayer, StaticToRgbLayer


def static_modulation(network: NetworkT) -> NetworkT:
    """Return a copy with constant convolution weights; exact.

    Raise `UnsupportedError` where nothing is modulated.
    """
    copied = copy_network(network)
    assert isinstance(copied, nn.Module)
    if not replace_modules(copied, _make_static):
        family = cast(str, copied.family)
        raise UnsupportedError(
            f"A {family} network has no modulated convolutions left; leave static_modulation out."
        )
    return copied


def _make_static(module: nn.Module) -> nn.Module | None:
    if isinstance(module, ModulatedLayer):
        return StaticModulatedLayer(module)
    if isinstance(module, ToRgbLayer):
        return StaticToRgbLayer(module)
    if isinstance(module, AliasFreeLayer):
        return StaticAliasFreeLayer(module)
    return None
