"""A program read by gantune gives what torch's own reader gives."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gantune.errors import CheckpointError
from gantune.runtime.engines.program_file import open_program, save_program

pytestmark = [
    # The archive takes a channels-last tensor for a part of a larger one; it is written whole.
    pytest.mark.filterwarnings("ignore:No complete tensor found:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
]


class Network(nn.Module):
    """Hold tensors of every kind that a program may hold, and compute what `run` says."""

    def __init__(self, run: Callable[["Network", Tensor], Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.run = run
        self.weight = nn.Parameter(torch.randn(6, 4, 3, 3).to(memory_format=torch.channels_last))
        self.tied = self.weight
        self.register_buffer("part", torch.randn(8, 6)[2:6, 1:5])
        self.register_buffer("passing", torch.randn(4), persistent=False)
        self.coarse = nn.Parameter(torch.randn(4).bfloat16())
        self.empty = nn.Parameter(torch.empty(0, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.run(self, x)


def convolve(network: Network, x: Tensor) -> Tensor:
    image = x[:, :, None, None].expand(-1, 4, 5, 5)
    return torch.conv2d(image, network.weight, padding=1) + torch.conv2d(image, network.tied, padding=1)


PROGRAMS: dict[str, Callable[[Network, Tensor], Tensor]] = {
    "channels_last_and_tied": convolve,
    "part_of_a_larger_tensor": lambda network, x: x @ network.part,
    "not_persistent": lambda network, x: x * network.passing,
    "a_constant_of_the_code": lambda network, x: x + torch.arange(4.0),
    "dtypes": lambda network, x: (x.to(torch.bfloat16) * network.coarse).to(torch.float64).float(),
    "sizes": lambda network, x: x.reshape(x.shape[0] * 2, 2).repeat(1, x.shape[0] + 1).sum(1, keepdim=True),
    "several_results": lambda network, x: torch.cat(x.split(1, dim=1)[::-1], dim=1) + x.topk(2).values.sum(),
    "one_of_two_results": lambda network, x: x.max(dim=1).values,
    "optional_tensors": lambda network, x: nn.functional.layer_norm(x, (4,), None, network.passing),
    "a_list_with_gaps": lambda network, x: x[:, torch.tensor([2, 0])],
    "infinity": lambda network, x: x.clamp(-0.5, float("inf")).masked_fill(x > 1, float("-inf")).exp(),
    "words": lambda network, x: nn.functional.gelu(x, approximate="tanh").div(0.3, rounding_mode="floor"),
    "new_tensors": lambda network, x: torch.zeros(x.shape[0], 4, device=x.device, dtype=x.dtype) + x,
    "memory_formats": lambda network, x: x.reshape(-1, 1, 2, 2).contiguous(memory_format=torch.channels_last),
    "empty": lambda network, x: torch.cat([x[:, :3], network.empty]),
    "equation": lambda network, x: torch.einsum("ni,ij->nj", x, network.part),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_computes_what_torch_computes(name: str, tmp_path: Path) -> None:
    network = Network(PROGRAMS[name]).eval()
    with torch.no_grad():
        program = torch.export.export(
            network, (torch.zeros(2, 4),), dynamic_shapes=({0: torch.export.Dim("N", min=1)},), strict=False
        )
    path = tmp_path / "network.pt2"
    save_program(program, path)
    module, x = open_program(path), torch.randn(3, 4)
    found, expected = module(x), torch.export.load(path).module()(x)
    assert torch.equal(found, expected)
    assert found.stride() == expected.stride()


def test_only_tensors_in_use_are_kept_and_a_tied_one_once(tmp_path: Path) -> None:
    with torch.no_grad():
        program = torch.export.export(Network(convolve).eval(), (torch.zeros(2, 4),), strict=False)
    save_program(program, tmp_path / "network.pt2")
    kept = list(open_program(tmp_path / "network.pt2").buffers())
    assert len({tensor.data_ptr() for tensor in kept}) == 1


def test_a_program_that_changes_its_own_tensors_is_refused(tmp_path: Path) -> None:
    def count(network: Network, x: Tensor) -> Tensor:
        network.passing.add_(1)
        return x + network.passing

    with torch.no_grad():
        program = torch.export.export(Network(count).eval(), (torch.zeros(2, 4),), strict=False)
    for traced, reason in (
        (program, "changes its own tensors"),
        (program.run_decompositions({}), "output of the kind 'buffer_mutation'"),
    ):
        save_program(traced, tmp_path / "network.pt2")
        with pytest.raises(CheckpointError, match=reason):
            open_program(tmp_path / "network.pt2")


def test_an_operation_says_where_it_was_traced(tmp_path: Path) -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

        def forward(self, x: Tensor) -> Tensor:
            return self.stem(x) * 2

    with torch.no_grad():
        program = torch.export.export(Outer().eval(), (torch.zeros(2, 4),))
    save_program(program, tmp_path / "network.pt2")
    nodes = open_program(tmp_path / "network.pt2").graph.nodes
    assert [node.meta["module"] for node in nodes if node.op == "call_function"] == ["stem.0", "stem.1", ""]
