"""Programs on a GPU: options are checked, arrays are staged, graphs are recorded once for each shape."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

from gantune.errors import CheckpointError, UnavailableError
from gantune.runtime.engines.cuda_graphs import GraphedCall
from gantune.runtime.engines.device_program import DeviceProgram, Staging, find_cuda
from gantune.runtime.engines.float32_products import float32_products
from gantune.runtime.engines.torch_options import TorchOptions

CPU = torch.device("cpu")


def test_staged_arrays_arrive_whole_and_results_belong_to_the_caller() -> None:
    staging = Staging(CPU)
    first = staging.send("z", np.arange(6.0).reshape(2, 3))
    second = staging.send("z", np.ones((2, 3)))
    assert torch.equal(first, torch.arange(6.0, dtype=torch.float64).reshape(2, 3))
    kept = staging.receive(first)
    staging.receive(second)
    np.testing.assert_array_equal(kept, np.arange(6.0).reshape(2, 3))


def test_a_program_takes_its_inputs_by_name_and_in_order() -> None:
    options = TorchOptions(uses_cuda_graphs=False)
    program = DeviceProgram(lambda a, b: a - b, names=["a", "b"], device=CPU, options=options)
    found = program.run({"b": np.float32([1, 2]), "a": np.float32([5, 5])})
    np.testing.assert_array_equal(found, [4, 3])


@pytest.mark.parametrize(
    "wrong", [{"device": "tpu"}, {"float32_products": "fast"}, {"uses_cuda_graphs": "yes"}], ids=str
)
def test_an_option_that_is_not_known_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(CheckpointError, match="it must be one of"):
        TorchOptions(**wrong)


def test_without_a_gpu_an_artifact_for_one_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UnavailableError, match="build it with device=cpu"):
        find_cuda()


def test_products_are_exact_or_tf32_inside_the_block_only() -> None:
    matmul, convolution = torch.backends.cuda.matmul, torch.backends.cudnn.conv
    before = matmul.fp32_precision, convolution.fp32_precision

    def fail_inside(precision: str) -> None:
        with float32_products(precision):
            assert (matmul.fp32_precision, convolution.fp32_precision) == (precision, precision)
            raise ZeroDivisionError

    for precision in ("tf32", "ieee"):
        with pytest.raises(ZeroDivisionError):
            fail_inside(precision)
        assert (matmul.fp32_precision, convolution.fp32_precision) == before


class FakeGraph:
    """Replay by running the call again on the recorded inputs."""

    def __init__(self, runs: list[str]) -> None:
        self.runs = runs

    def replay(self) -> None:
        self.runs.append("replay")

    def pool(self) -> str:
        return "pool"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for CUDA: note what is recorded and replayed."""
    done: list[str] = []

    @contextmanager
    def record(graph: FakeGraph, *, pool: str | None) -> Iterator[None]:
        done.append(f"record in {pool}")
        yield

    @contextmanager
    def use(stream: object) -> Iterator[None]:
        yield

    stream = SimpleNamespace(wait_stream=lambda other: None)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "stream", use)
    monkeypatch.setattr(torch.cuda, "graph", record)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: FakeGraph(done))
    return done


def test_each_shape_is_recorded_once_in_one_pool_and_replayed_on_its_own_inputs(runs: list[str]) -> None:
    seen: list[Tensor] = []

    def call(x: Tensor) -> Tensor:
        seen.append(x)
        return x * 2

    graphed = GraphedCall(call, most_shapes=2)
    graphed(torch.ones(2))
    graphed(torch.full((2,), 7.0))
    assert runs == ["record in None", "replay", "replay"]
    # Three warm-up calls and the recorded one: all on the same memory, which now holds the second input.
    assert len(seen) == 4
    assert all(x is seen[0] for x in seen)
    assert seen[0].tolist() == [7, 7]
    graphed(torch.ones(3))
    assert runs[3:] == ["record in pool", "replay"]
    assert graphed.num_recordings == 2


def test_shapes_beyond_the_first_few_run_as_they_are(runs: list[str]) -> None:
    graphed = GraphedCall(lambda x: x + 1, most_shapes=1)
    graphed(torch.ones(2))
    assert graphed(torch.ones(5)).tolist() == [2] * 5
    assert graphed.num_recordings == 1
    assert runs == ["record in None", "replay"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_real_graph_gives_the_calls_result() -> None:
    x = torch.randn(4, 8, device="cuda")
    graphed = GraphedCall(lambda x: (x @ x.T).relu())
    for _ in range(2):
        torch.testing.assert_close(graphed(x), (x @ x.T).relu())
        x = torch.randn(4, 8, device="cuda")
