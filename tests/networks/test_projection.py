import pytest
import torch

from gantune.errors import UsageError
from gantune.networks.projection import ProjectionHead

FEATURES = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def test_the_projection_on_the_class_is_added_to_the_logit():
    head = ProjectionHead(2, 3, is_spectral=False)
    with torch.no_grad():
        head.linear.weight.copy_(torch.tensor([[1.0, -1.0]]))
        head.linear.bias.fill_(0.5)
        head.embedding.weight.copy_(torch.tensor([[0.0, 1.0, 2.0], [0.0, 3.0, 0.0]]))
    # By hand: 1 − 2 + 0.5 + (1·1 + 2·3) and 3 − 4 + 0.5 + (3·2 + 4·0).
    expected = torch.tensor([[6.5], [5.5]])
    assert torch.allclose(head(FEATURES, torch.tensor([1, 2])), expected)
    assert torch.allclose(head(FEATURES, torch.eye(3)[[1, 2]]), expected)


@pytest.mark.parametrize(("num_classes", "y"), [(3, None), (0, torch.tensor([0, 0]))])
def test_a_class_that_is_missing_or_not_wanted_is_refused(num_classes, y):
    with pytest.raises(UsageError, match=r"takes .*classes y"):
        ProjectionHead(2, num_classes, is_spectral=True)(FEATURES, y)
