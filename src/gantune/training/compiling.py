"""Compile the passes of first-order phases; phases with a second derivative stay eager.

torch.compile cannot differentiate twice, so that the compiled forms and the modules share their parameters:
a phase takes the one or the other.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from gantune.errors import UnavailableError
from gantune.networks.contract import StyleNetwork

Forward = Callable[..., Tensor]


@dataclass
class CompiledForms:
    """The compiled passes of modules, each made when it is first needed and kept for the run."""

    forms: dict[nn.Module, Forward] = field(default_factory=dict)

    @contextmanager
    def in_use(self, *networks: nn.Module) -> Iterator[None]:
        """Let `networks` run compiled until the `with` block ends.

        Of a style network it is the synthesis: the mapping network is too small to be worth it.
        """
        modules = [_dominant_part(network) for network in networks]
        for module in modules:
            if module not in self.forms:
                self.forms[module] = torch.compile(module.forward)
            module.forward = self.forms[module]
        try:
            yield
        finally:
            for module in modules:
                del module.forward  # the method of the class shows again


def check_compiler() -> None:
    """Raise `UnavailableError` where torch.compile has no C++ compiler to work with on a CPU."""
    from gantune.backends.compiler import missing_compiler

    if torch.cuda.is_available():
        return
    missing = missing_compiler("--compile needs a C++ compiler on a CPU")
    if missing is not None:
        raise UnavailableError(f"{missing}; install one, or train without --compile.")


def _dominant_part(network: nn.Module) -> nn.Module:
    if isinstance(network, StyleNetwork):
        synthesis = network.synthesis
        assert isinstance(synthesis, nn.Module)
        return synthesis
    return network
