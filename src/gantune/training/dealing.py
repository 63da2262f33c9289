"""Deal the samples of a batch to processes and accumulation rounds, so that every part computes what the
whole would.

A discriminator with minibatch statistics puts sample n into group n mod (N / G). Whole groups are dealt: the
statistics of a part are then those of the whole batch, whatever the number of parts.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from gantune.errors import UsageError

Draw = Mapping[str, Tensor]
"""Named tensors whose first dimension is the batch."""


def deal_positions(num_samples: int, *, part: int, num_parts: int, group_size: int) -> Tensor:
    """Return the positions [num_samples / num_parts] that part number `part` gets.

    Raise `UsageError` where the groups do not split into `num_parts` equal parts.
    """
    size = min(group_size, num_samples)
    if num_samples % size or (num_samples // size) % num_parts:
        raise UsageError(
            f"A batch of {num_samples} in groups of {size} does not split into {num_parts} equal parts "
            f"(processes × accumulation); use a multiple of {size * num_parts}."
        )
    share = num_samples // size // num_parts
    table = torch.arange(num_samples).reshape(size, -1)
    return table[:, part * share : (part + 1) * share].flatten()


def deal(draw: Draw, *, part: int, num_parts: int, group_size: int) -> dict[str, Tensor]:
    """Return the share of part number `part` in every tensor of `draw`."""
    if num_parts == 1 or not draw:
        return dict(draw)
    count = next(iter(draw.values())).shape[0]
    positions = deal_positions(count, part=part, num_parts=num_parts, group_size=group_size)
    return {name: tensor[positions] for name, tensor in draw.items()}
