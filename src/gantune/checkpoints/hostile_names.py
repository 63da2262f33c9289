"""Names in a pickle that only an attack would need: a file that mentions one is refused whole."""

from typing import Final

from gantune.errors import CheckpointError

_MODULES: Final = (
    "os posix nt ntpath posixpath subprocess sys importlib runpy shutil socket pty ctypes webbrowser code "
    "codeop pickle _pickle cPickle marshal commands popen2 pdb bdb timeit signal urllib http ftplib torch.hub"
)
_BUILTINS: Final = "eval exec execfile compile open __import__ input breakpoint apply file exit quit"
_FUNCTIONS: Final = "torch.load torch.serialization.load torch.jit.load numpy.load joblib.load"
_NAMES: Final = {
    *(f"{module}.{name}" for module in ("builtins", "__builtin__") for name in _BUILTINS.split()),
    *_FUNCTIONS.split(),
}


def refuse_hostile_name(qualified: str) -> None:
    """Raise `CheckpointError` when the qualified name of a global can serve only to run code."""
    parts = qualified.split(".")
    modules = [".".join(parts[:length]) for length in range(1, min(len(parts), 3))]
    if qualified in _NAMES or any(module in _MODULES.split() for module in modules):
        raise CheckpointError(
            f"The pickle names {qualified}, which no checkpoint needs; it is refused, and nothing was run."
        )
