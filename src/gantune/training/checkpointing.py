"""Gradient checkpointing: blocks keep their inputs alone and compute the rest again for the backward pass."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gantune.networks.stylegan2_discriminator import DiscriminatorBlock
from gantune.networks.stylegan2_synthesis import SynthesisBlock

_BLOCKS = (SynthesisBlock, DiscriminatorBlock)


@contextmanager
def recompute_blocks(*networks: nn.Module) -> Iterator[None]:
    """Let the blocks of `networks` recompute their insides until the `with` block ends.

    First and second derivatives stay what they are. The layers of StyleGAN3 are left alone: their first pass
    moves running magnitudes, which a second pass would move again.
    """
    blocks = [item for network in networks for item in network.modules() if isinstance(item, _BLOCKS)]
    for block in blocks:
        forward: Callable[..., tuple[Tensor, Tensor | None]] = block.forward
        block.forward = partial(checkpoint, forward, use_reentrant=False)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for block in blocks:
            del block.forward  # the method of the class shows again
