from pathlib import Path

import pytest

from gantune.errors import UsageError
from gantune.optimizing.finetuning_options import FinetuneOptions


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kimg": 0.0}, "kimg of fine-tuning is 0; it must be above 0"),
        ({"rate": float("nan")}, "rate of fine-tuning is nan"),
        ({"distillation": -1.0}, "weight of distillation is -1"),
        ({"distillation": 0.0, "discriminator": "none"}, "nothing to learn from"),
        ({"discriminator": "strict"}, "'strict'; it must be one of: float, quantized, frozen, none"),
        ({"steps": "long"}, "'long'; it must be one of: frozen, learned"),
        ({"batch": 0}, "batch is 0"),
    ],
)
def test_values_that_make_no_run_are_refused(values, message):
    with pytest.raises(UsageError, match=message):
        FinetuneOptions(data=Path("data.zip"), **values)


def test_steps_are_counted_from_images():
    assert FinetuneOptions(data=Path("data.zip"), kimg=20.0, batch=32).num_steps == 625
    assert FinetuneOptions(data=Path("data.zip"), kimg=1e-6).num_steps == 1
