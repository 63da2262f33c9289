"""grid_sample equals torch's own and, unlike it, has second derivatives."""

import pytest
import torch
import torch.nn.functional as F

from gantune.errors import UsageError
from gantune.ops import grid_sample
from gantune.ops.tolerance import BY_DTYPE, largest_error


@pytest.mark.parametrize("size", [(5, 7), (1, 1), (8, 3)])
def test_it_equals_torch_inside_at_the_edge_and_outside(size: tuple[int, int]) -> None:
    torch.manual_seed(0)
    image = torch.randn(2, 3, *size, dtype=torch.float64)
    grid = torch.rand(2, 6, 4, 2, dtype=torch.float64) * 3 - 1.5
    grid[0, 0] = torch.tensor([[-1.0, -1], [1, 1], [0, 0], [40, -40]])
    expected = F.grid_sample(image, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    assert largest_error(grid_sample(image, grid), expected) <= BY_DTYPE[torch.float64].relative


def test_its_gradient_equals_torch() -> None:
    torch.manual_seed(1)
    image = torch.randn(2, 2, 4, 5, dtype=torch.float64, requires_grad=True)
    grid = (torch.rand(2, 3, 3, 2, dtype=torch.float64) * 2.4 - 1.2).requires_grad_()
    dy = torch.randn(2, 2, 3, 3, dtype=torch.float64)
    found = torch.autograd.grad(grid_sample(image, grid), (image, grid), dy)
    expected = torch.autograd.grad(F.grid_sample(image, grid, align_corners=False), (image, grid), dy)
    for one, other in zip(found, expected, strict=True):
        assert largest_error(one, other) <= BY_DTYPE[torch.float64].relative


def test_it_has_second_derivatives() -> None:
    torch.manual_seed(2)
    image = torch.randn(1, 2, 3, 4, dtype=torch.float64, requires_grad=True)
    grid = (torch.rand(1, 2, 3, 2, dtype=torch.float64) * 2.4 - 1.2).requires_grad_()
    assert torch.autograd.gradgradcheck(grid_sample, (image, grid))


@pytest.mark.parametrize(
    ("image", "grid"), [((1, 1, 2), (1, 1, 1, 2)), ((1, 1, 2, 2), (1, 1, 1, 3)), ((2, 1, 2, 2), (1, 1, 1, 2))]
)
def test_other_shapes_are_refused(image: tuple[int, ...], grid: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="grid_sample takes"):
        grid_sample(torch.zeros(image), torch.zeros(grid))
