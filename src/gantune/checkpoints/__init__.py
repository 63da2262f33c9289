"""Checkpoints of every format, read without running any code in them."""

from gantune.checkpoints.conversion import Conversion, convert
from gantune.checkpoints.loading import Checkpoint, load, load_checkpoint

__all__ = ["Checkpoint", "Conversion", "convert", "load", "load_checkpoint"]
