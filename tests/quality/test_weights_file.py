import hashlib
import socket
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from gantune.errors import CheckpointError, UnavailableError
from gantune.quality.weights_file import PublishedWeights, check_hash, fetch_weights, load_state, read_state


def test_a_wrong_hash_names_both(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    path.write_bytes(b"weights")
    found = hashlib.sha256(b"weights").hexdigest()
    assert check_hash(path, None) == check_hash(path, found.upper()) == found
    with pytest.raises(CheckpointError, match=found):
        check_hash(path, "0" * 64)
    with pytest.raises(UnavailableError, match="no weights at"):
        check_hash(tmp_path / "absent.pth", None)


def test_what_is_fetched_must_have_the_published_hash(tmp_path: Path) -> None:
    source = tmp_path / "served.pth"
    source.write_bytes(b"served")
    good = PublishedWeights(source.as_uri(), hashlib.sha256(b"served").hexdigest(), 6)
    assert fetch_weights(good, tmp_path / "cache").read_bytes() == b"served"
    with pytest.raises(CheckpointError, match="expected"):
        fetch_weights(PublishedWeights(source.as_uri(), "0" * 64, 6), tmp_path / "other")
    assert list((tmp_path / "other").iterdir()) == []


def test_without_a_connection_the_user_learns_where_the_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionRefusedError("no network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    with pytest.raises(UnavailableError, match="--weights"):
        fetch_weights(PublishedWeights("http://localhost:9/w.pth", "0" * 64, 1), tmp_path)


def test_states_come_from_torch_and_safetensors_files(tmp_path: Path) -> None:
    state = {"weight": torch.arange(3.0)}
    torch.save(state, tmp_path / "a.pth")
    save_file(state, tmp_path / "a.safetensors")
    for name in ("a.pth", "a.safetensors"):
        assert torch.equal(read_state(tmp_path / name)["weight"], state["weight"])
    torch.save([1, 2], tmp_path / "list.pth")
    with pytest.raises(CheckpointError, match="plain state dict"):
        read_state(tmp_path / "list.pth")


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    module = torch.nn.Linear(2, 3)
    with pytest.raises(CheckpointError, match=r"bias must be \[3\], found nothing"):
        load_state(module, {"weight": torch.zeros(3, 2)}, path=tmp_path, what="a layer")
