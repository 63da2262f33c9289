"""filtered_lrelu: what it refuses."""

import pytest
import torch

from gantune.errors import UsageError
from gantune.ops import filtered_lrelu

X = torch.zeros(1, 3, 4, 4)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"up": 0}, "up and down are whole numbers of at least 1, found 0 and 1"),
        ({"fd": torch.ones(9)}, "the result would be -4 × -4"),
        ({"fu": torch.ones(9)}, "the result would be -4 × -4"),
        ({"b": torch.zeros(2)}, r"b has shape \[3\]"),
        ({"padding": [1, 2, 3]}, "padding is one number"),
        ({"fd": torch.ones(2, 2, 2)}, "setup_filter"),
    ],
)
def test_wrong_options_are_refused(keywords: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        filtered_lrelu(X, **keywords)  # type: ignore[arg-type]
