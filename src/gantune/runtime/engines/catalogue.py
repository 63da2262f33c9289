"""Open an artifact with the engine that it names."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from gantune.errors import UnavailableError
from gantune.records.artifact import Artifact, Engine
from gantune.runtime.engines.session import Session

Opener = Callable[[Artifact, Path, int | None], Session]

# Engine → (our module, the package it needs, how to get that); modules are imported only when used.
ENGINES: dict[Engine, tuple[str, str, str]] = {
    "onnxruntime": ("gantune.runtime.engines.onnxruntime", "onnxruntime", "pip install onnxruntime"),
    "openvino": ("gantune.runtime.engines.openvino", "openvino", "pip install 'gantune[openvino]'"),
    "torch": ("gantune.runtime.engines.torch_program", "torch", "pip install torch"),
    "aotinductor": ("gantune.runtime.engines.aotinductor", "torch", "pip install torch"),
    "torch_compile": ("gantune.runtime.engines.torch_program", "torch", "pip install torch"),
}


def open_session(artifact: Artifact, directory: Path, *, threads: int | None) -> Session:
    """Open the artifact in `directory` with its engine; `threads` None leaves the number to the engine.

    Raises UnavailableError where the engine's package is not installed, CheckpointError where the engine
    refuses the file.
    """
    module_name, package, command = ENGINES[artifact.engine]
    try:
        import_module(package)
    except ImportError as error:
        raise UnavailableError(
            f"the artifact needs the engine {artifact.engine}, and {package} cannot be imported: {command}"
        ) from error
    opener: Opener = import_module(module_name).open_session
    return opener(artifact, directory, threads)
