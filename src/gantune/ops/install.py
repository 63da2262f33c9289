"""Put gantune's operations under an existing StyleGAN checkout, in place of its own."""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

REPLACED = (
    "upfirdn2d",
    "bias_act",
    "filtered_lrelu",
    "conv2d_resample",
    "conv2d_gradfix",
    "grid_sample_gradfix",
    "fma",
)
PACKAGE = "torch_utils.ops"


def install() -> None:
    """Replace the operations of a checkout's `torch_utils.ops`, imported already or later, by gantune's.

    Nothing is compiled, and `impl="ref"` asks for the reference form. Modules imported already keep their
    identity and get new functions; modules imported later are ours. Calling it twice changes nothing.
    """
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    for name in REPLACED:
        module = sys.modules.get(f"{PACKAGE}.{name}")
        if module is not None and module.__name__ not in _originals and not _is_ours(module):
            replacements = _replacements(name)
            _originals[module.__name__] = {
                key: vars(module)[key] for key in replacements if key in vars(module)
            }
            vars(module).update(replacements)


def uninstall() -> None:
    """Undo `install`: give modules their own functions back, and forget modules that were ours.

    What a program bound by name meanwhile (`from torch_utils.ops.fma import fma`) stays what it is.
    """
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in REPLACED:
        full_name = f"{PACKAGE}.{name}"
        module = sys.modules.get(full_name)
        if module is None:
            continue
        if _is_ours(module):
            del sys.modules[full_name]
            vars(sys.modules[PACKAGE]).pop(name, None)
        elif full_name in _originals:
            for key in _replacements(name):
                del vars(module)[key]
            vars(module).update(_originals.pop(full_name))


class _ReplacementFinder(MetaPathFinder, Loader):
    """Finds the replaced modules before the import system looks for them on disk."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        if package != PACKAGE or name not in REPLACED:
            return None
        return ModuleSpec(fullname, self, origin=f"gantune.ops.checkout.{name}")

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(_replacements(module.__name__.rpartition(".")[2]))


_finder = _ReplacementFinder()
_originals: dict[str, dict[str, object]] = {}


def _replacements(name: str) -> dict[str, object]:
    source = importlib.import_module(f"gantune.ops.checkout.{name}")
    return {key: getattr(source, key) for key in source.__all__}


def _is_ours(module: ModuleType) -> bool:
    return getattr(module, "__loader__", None) is _finder
