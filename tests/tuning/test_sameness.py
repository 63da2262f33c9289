"""What counts as training the same: as much work, and losses where other seeds take them."""

import re

import pytest

from gantune.profiling.script_record import ScriptRecord
from gantune.tuning.sameness import find_difference, mean_losses, observe_reference

NUM_STEPS = 4


def record(
    losses: tuple[float, ...] = (1.0, 0.8, 0.6, 0.4),
    *,
    batch: int = 32,
    loaded: int = 32,
    trained: int = 4,
    optimizer_steps: int = NUM_STEPS,
) -> ScriptRecord:
    """A script that backpropagates a loss, and twice the loss, in each of four steps."""
    return ScriptRecord.model_validate(
        {
            "stage": "plain",
            "source": "optimizer",
            "num_steps": NUM_STEPS,
            "process_id": 1,
            "thread_id": 1,
            "torch": "2",
            "threads": 1,
            "num_cores": 1,
            "window_end_ns": 0,
            "batch_size": batch,
            "loader": {"batch_size": loaded},
            "losses": [(step, factor * loss) for step, loss in enumerate(losses) for factor in (1, 2)],
            "optimizers": [{"kind": "Adam", "num_weights": 4, "num_trained": trained}],
            "stages": {
                "plain": {
                    "boundaries": range(NUM_STEPS + 1),
                    "optimizer_steps": [(0, step, step) for step in range(optimizer_steps)],
                }
            },
        }
    )


def test_losses_are_averaged_by_place_and_by_half() -> None:
    assert mean_losses(record(), NUM_STEPS) == pytest.approx([0.9, 0.5, 1.8, 1.0])
    assert mean_losses(record(), 2) == pytest.approx([1.0, 0.8, 2.0, 1.6])


def test_the_same_script_is_the_same() -> None:
    reference = observe_reference([record(), record((1.1, 0.9, 0.7, 0.5))], least_steps=NUM_STEPS)
    assert find_difference(reference, record()) is None
    assert find_difference(reference, record((1.05, 0.85, 0.65, 0.45))) is None


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (record(batch=16), "batches of 16 instead of 32"),
        (record(loaded=16), "batches of 16 instead of 32"),
        (record(trained=3), r"train \[3\] weights instead of \[4\]"),
        (record(optimizer_steps=2), "steps 0.5 times a step instead of 1"),
        (record((1.0, 0.8)), "2 mean losses instead of 4"),
        (record((1.0, 0.8, 0.8, 0.8)), "a loss is 0.8, outside of 0.388 to 0.712"),
        (record((1.0, 0.8, 0.6, float("nan"))), "a loss is nan"),
    ],
    ids=[
        "half-batches",
        "half-loads",
        "frozen-weights",
        "fewer-updates",
        "missing-loss",
        "stuck",
        "not-a-number",
    ],
)
def test_a_step_that_does_less_or_trains_otherwise_is_noticed(changed: ScriptRecord, sentence: str) -> None:
    reference = observe_reference([record(), record((1.1, 0.9, 0.7, 0.5))], least_steps=NUM_STEPS)
    found = find_difference(reference, changed)
    assert found is not None
    assert re.search(sentence, found), found
