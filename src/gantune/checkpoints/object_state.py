"""What BUILD does: give an object made earlier the state the file has for it, as data."""

import numpy as np

from gantune.checkpoints.inert import AttributeRecord, InertObject
from gantune.checkpoints.numpy_builders import DtypeRecord, fill_array
from gantune.checkpoints.reading_budget import ReadingBudget
from gantune.errors import CheckpointError


def give_state(target: object, state: object, budget: ReadingBudget) -> None:
    """Store `state` in `target`; attributes of plain containers and tensors are left out.

    Raises `CheckpointError` for a state that does not fit an array or a dtype.
    """
    if isinstance(target, InertObject):
        target.state = state
    elif isinstance(target, AttributeRecord):
        if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
            raise CheckpointError(
                "The pickle gives a record attributes without names: it is damaged or hostile."
            )
        target.update(state)
    elif isinstance(target, DtypeRecord):
        target.accept(state)
    elif isinstance(target, np.ndarray):
        fill_array(target, state, budget)
