from pathlib import Path

import pytest
import torch
from torch import Tensor, fx, nn

from gantune.ops.native.library import missing_reason
from gantune.runtime.engines.native_products import use_native_products
from gantune.runtime.engines.program_file import open_program, save_program

pytestmark = pytest.mark.skipif(missing_reason() is not None, reason=str(missing_reason()))


class Styles(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.affine = nn.Linear(256, 512)
        self.bare = nn.Linear(512, 256, bias=False)
        self.small = nn.Linear(256, 16)
        self.register_buffer("square", torch.rand(256, 384))

    def forward(self, w: Tensor) -> Tensor:
        styles = self.bare(self.affine(w))
        image_like = self.bare(self.affine(w)[:, None].expand(-1, 3, -1)).sum()
        return torch.cat([styles.square() @ self.square, self.small(w)], dim=1) + image_like


def load(tmp_path: Path) -> fx.GraphModule:
    with torch.no_grad():
        program = torch.export.export(
            Styles().eval(), (torch.zeros(2, 256),), dynamic_shapes=({0: torch.export.Dim("N", min=1)},)
        )
    save_program(program, tmp_path / "network.pt2")
    return open_program(tmp_path / "network.pt2")


@pytest.mark.parametrize("num_vectors", [1, 2, 7])
def test_large_products_of_vectors_are_native_and_give_the_same(tmp_path: Path, num_vectors: int) -> None:
    module, w = load(tmp_path), torch.randn(num_vectors, 256)
    with torch.inference_mode():
        expected = module(w)
        use_native_products(module)
        torch.testing.assert_close(module(w), expected, atol=1e-3, rtol=1e-5)
    counts = {
        name: sum(name in str(node.target) for node in module.graph.nodes)
        for name in ("gantune.matrix_vector", "aten.linear", "aten.matmul")
    }
    # The small matrix and the product of three axes are torch's.
    assert counts == {"gantune.matrix_vector": 4, "aten.linear": 2, "aten.matmul": 0}
