"""Each remedy changes torch as it says, from outside."""

from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from gantune.tuning import apply

OPTIMIZERS = (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD)


@pytest.fixture(autouse=True)
def torch_as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for owner, name in (
        (DataLoader, "__init__"),
        (torch, "manual_seed"),
        (torch, "set_num_threads"),
        (torch.Tensor, "to"),
        *((kind, "__init__") for kind in OPTIMIZERS),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    yield
    monkeypatch.undo()
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision(precision)
    while apply._kept:
        kept = apply._kept.pop()
        if hasattr(kept, "remove"):
            kept.remove()


class Stream(IterableDataset):
    def __iter__(self) -> Iterator[int]:
        return iter(range(4))


def test_seeds_are_shifted() -> None:
    torch.manual_seed(5)
    expected = torch.rand(2)
    apply.shift_seed("2")
    torch.manual_seed(3)
    assert torch.equal(torch.rand(2), expected)


def test_the_script_cannot_set_its_threads_back() -> None:
    apply.fix_threads("1")
    torch.set_num_threads(7)
    assert torch.get_num_threads() == 1


def test_loaders_get_workers_unless_they_have_some_or_read_a_stream() -> None:
    apply.load_in_workers("2")
    data = TensorDataset(torch.zeros(8))
    loader = DataLoader(data, 4, True)
    assert (loader.num_workers, loader.persistent_workers, loader.prefetch_factor) == (2, True, 4)
    assert DataLoader(data, num_workers=1).num_workers == 1
    assert DataLoader(Stream()).num_workers == 0


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("form", ["foreach", "fused"])
def test_optimizers_are_fused_or_batched_whatever_the_script_says(
    kind: type[torch.optim.Adam], form: str
) -> None:
    {"foreach": apply.batch_optimizers, "fused": apply.fuse_optimizers}[form]()
    group = kind([nn.Parameter(torch.zeros(2))], lr=0.1, foreach=False).param_groups[0]
    assert (group[form], group["lr"]) == (True, 0.1)


def test_networks_become_channels_last_and_stay_the_same() -> None:
    network, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), torch.rand(1, 3, 8, 8)
    expected = network(x)
    apply.keep_channels_last()
    torch.testing.assert_close(network(x), expected)
    assert network[0].weight.is_contiguous(memory_format=torch.channels_last)


def test_networks_compute_in_bfloat16_and_answer_in_float32() -> None:
    network, seen = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), []
    network[0].register_forward_hook(lambda *given: seen.append(given[2].dtype))
    apply.cast_to_bfloat16()
    assert network(torch.rand(1, 4)).dtype == torch.float32
    assert seen == [torch.bfloat16]
    assert not torch.is_autocast_enabled("cpu")


def test_matrix_products_may_be_rounded() -> None:
    apply.allow_bfloat16_products()
    assert torch.get_float32_matmul_precision() == "medium"
