"""Weights of feature networks: a file checked against its hash, fetched only when that is asked for."""

import hashlib
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from gantune.checkpoints.torch_file import read_torch_file
from gantune.errors import CheckpointError, UnavailableError
from gantune.machine.whole_files import write_whole

_CHUNK_BYTES = 2**20


@dataclass(frozen=True)
class PublishedWeights:
    """Where the weights of a named network are published, and the SHA-256 that they must have."""

    url: str
    sha256: str
    num_bytes: int


def hash_file(path: Path) -> str:
    """Give the SHA-256 of a file, as hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def check_hash(path: Path, sha256: str | None) -> str:
    """Return the SHA-256 of the file.

    Raises `UnavailableError` where there is no file, `CheckpointError` where its hash is not `sha256`.
    """
    if not path.is_file():
        raise UnavailableError(f"There are no weights at {path}. Check the path.")
    found = hash_file(path)
    if sha256 is not None and found != sha256.lower():
        raise CheckpointError(
            f"{path} has the SHA-256 {found}, and {sha256} was expected: it is another file, or damaged. "
            "Fetch it again, or state the hash you mean."
        )
    return found


def fetch_weights(published: PublishedWeights, folder: Path) -> Path:
    """Download into `folder`, unless it is there; raise `UnavailableError` where that fails.

    This is the only place of the metrics that opens a connection.
    """
    target = folder / published.url.rsplit("/", 1)[1]
    if target.is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with write_whole(target) as partial:
            with urllib.request.urlopen(published.url, timeout=60) as response, partial.open("wb") as stream:
                while chunk := response.read(_CHUNK_BYTES):
                    stream.write(chunk)
            check_hash(partial, published.sha256)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise UnavailableError(
            f"The weights could not be fetched from {published.url} ({error}). Fetch them elsewhere and name "
            "the file with --weights."
        ) from error
    return target


def read_state(path: Path) -> dict[str, Tensor]:
    """Read a state dict from a torch or safetensors file, running nothing in it."""
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return load_file(path)
        except SafetensorError as error:
            raise CheckpointError(f"{path} is not a readable safetensors file ({error}).") from error
    content = read_torch_file(path)
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise CheckpointError(f"{path} holds a {type(content).__name__}; it must hold a plain state dict.")
    return {str(name): value for name, value in content.items()}


def load_state(module: torch.nn.Module, state: dict[str, Tensor], *, path: Path, what: str) -> None:
    """Load exactly the tensors that `module` has; raise `CheckpointError` naming the first that does not fit.

    Tensors of parts that the metric does not use, such as an auxiliary classifier, may be there as well.
    """
    wanted = module.state_dict()
    for name, tensor in wanted.items():
        if name.endswith("num_batches_tracked"):
            state.setdefault(name, tensor)
        if name not in state or state[name].shape != tensor.shape:
            found = "nothing" if name not in state else list(state[name].shape)
            raise CheckpointError(
                f"{path} does not hold {what}: {name} must be {list(tensor.shape)}, found {found}."
            )
    module.load_state_dict({name: state[name] for name in wanted})
