"""The catalogue of backends: a new one is one file and one line."""

from gantune.backends import aotinductor, onnxruntime, openvino, torch_compile, torch_eager
from gantune.backends.backend import Backend
from gantune.errors import UsageError

BACKENDS: tuple[Backend, ...] = (
    openvino.BACKEND,
    torch_eager.BACKEND,
    torch_compile.BACKEND,
    onnxruntime.BACKEND,
    aotinductor.BACKEND,
)


def find_backend(name: str) -> Backend:
    """Return the backend of an engine; raise `UsageError` naming the known ones."""
    for backend in BACKENDS:
        if backend.name == name:
            return backend
    known = ", ".join(backend.name for backend in BACKENDS)
    raise UsageError(f"There is no engine {name!r}; the engines are: {known}.")
