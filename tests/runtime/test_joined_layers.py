from pathlib import Path

import pytest
import torch
from torch import Tensor, fx, nn

from gantune.ops.styled_convolution import StyledOptions, missing, project_pixels, styled_convolution
from gantune.runtime.engines import joined_layers
from gantune.runtime.engines.joined_layers import join_layers
from gantune.runtime.engines.packed_weights import pack_weights
from gantune.runtime.engines.program_file import open_program, save_program

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


class Synthesis(nn.Module):
    """Two blocks with skip connections; `reads_between` lets a second layer read the last block's first."""

    def __init__(self, *, reads_between: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.reads_between = reads_between
        self.up = nn.ParameterList([torch.randn(4 * 6, 6, 2, 2) / 5 for _ in range(2)])
        self.plain = nn.ParameterList([torch.randn(6, 6, 3, 3) / 7 for _ in range(2)])
        self.rgb = nn.ParameterList([torch.randn(1, 3, 6) for _ in range(2)])
        self.bias = nn.Parameter(torch.randn(3))

    def forward(self, x: Tensor) -> Tensor:
        image = torch.zeros(1)
        for up, plain, rgb in zip(self.up, self.plain, self.rgb, strict=True):
            first = styled_convolution(x, up, StyledOptions(smooth=[0.25, 0.5, 0.25]))
            x = styled_convolution(
                first, plain, StyledOptions(bias=torch.ones(6), slope=torch.full((6,), 0.2))
            )
            shown = project_pixels(x, rgb.expand(x.shape[0], 3, 6), self.bias)
            image = (
                image.repeat_interleave(2, -1).repeat_interleave(2, -2) + shown if image.ndim == 4 else shown
            )
        return image + first.mean() if self.reads_between else image


def load(network: nn.Module, tmp_path: Path) -> fx.GraphModule:
    with torch.no_grad():
        program = torch.export.export(
            network, (torch.zeros(2, 6, 5, 7),), dynamic_shapes=({0: torch.export.Dim("N", min=1)},)
        )
    save_program(program, tmp_path / "network.pt2")
    module = open_program(tmp_path / "network.pt2")
    pack_weights(module)
    return module


def count(module: fx.GraphModule, operator: str) -> int:
    return sum(str(node.target) == f"gantune.{operator}.default" for node in module.graph.nodes)


def test_blocks_are_joined_and_give_the_same_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_layers, "SMALLEST_BYTES", 0)
    module, x = load(Synthesis(), tmp_path), torch.randn(3, 6, 5, 7)
    with torch.inference_mode():
        expected = module(x)
        join_layers(module)
        torch.testing.assert_close(module(x), expected, atol=1e-5, rtol=0)
    # The first block's result is read by its projection and by the second block; the last one's is not kept.
    assert [
        count(module, name) for name in ("styled_block", "styled_convolution_packed", "project_pixels")
    ] == [
        2,
        0,
        1,
    ]


def test_a_result_that_is_read_elsewhere_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_layers, "SMALLEST_BYTES", 0)
    module, x = load(Synthesis(reads_between=True), tmp_path), torch.randn(2, 6, 5, 7)
    with torch.inference_mode():
        expected = module(x)
        join_layers(module)
        torch.testing.assert_close(module(x), expected, atol=1e-5, rtol=0)
    assert count(module, "styled_block") == 1


def test_small_results_are_left_alone(tmp_path: Path) -> None:
    module = load(Synthesis(), tmp_path)
    code = module.code
    join_layers(module)
    assert module.code == code
