"""gantune makes a GAN fast and proves it."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gantune import ops as ops
    from gantune import runtime as runtime
    from gantune.checkpoints import convert as convert
    from gantune.checkpoints import load as load
    from gantune.checkpoints import load_checkpoint as load_checkpoint
    from gantune.optimizing.entry_points import bench as bench
    from gantune.optimizing.entry_points import export as export
    from gantune.optimizing.entry_points import generate as generate
    from gantune.optimizing.entry_points import profile as profile
    from gantune.optimizing.inspection import inspect as inspect
    from gantune.optimizing.optimize import optimize as optimize
    from gantune.optimizing.options import OptimizeOptions as OptimizeOptions
    from gantune.profiling.profiler import Profiler as Profiler
    from gantune.quality.evaluation import EvaluateOptions as EvaluateOptions
    from gantune.quality.evaluation import evaluate as evaluate
    from gantune.quality.gate import Budget as Budget

# Each public name and the module that holds it; a name equal to its module's last part is the module itself.
_HOMES = {
    "Budget": "gantune.quality.gate",
    "EvaluateOptions": "gantune.quality.evaluation",
    "OptimizeOptions": "gantune.optimizing.options",
    "Profiler": "gantune.profiling.profiler",
    "bench": "gantune.optimizing.entry_points",
    "convert": "gantune.checkpoints",
    "evaluate": "gantune.quality.evaluation",
    "export": "gantune.optimizing.entry_points",
    "generate": "gantune.optimizing.entry_points",
    "inspect": "gantune.optimizing.inspection",
    "load": "gantune.checkpoints",
    "load_checkpoint": "gantune.checkpoints",
    "ops": "gantune.ops",
    "optimize": "gantune.optimizing.optimize",
    "profile": "gantune.optimizing.entry_points",
    "runtime": "gantune.runtime",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    """Import a public name on first use (PEP 562), so that `import gantune` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gantune' has no attribute {name!r}; it has {', '.join(__all__)}")
    module = import_module(_HOMES[name])
    return module if _HOMES[name] == f"gantune.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "errors"]
