"""Optimizing: try a change, measure it, keep or undo it, and show the result."""

from gantune.optimizing.loop import Result, run_plan
from gantune.optimizing.options import OptimizeOptions
from gantune.optimizing.planning import make_plan

__all__ = ["OptimizeOptions", "Result", "make_plan", "run_plan"]
