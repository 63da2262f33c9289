"""The troubleshooting tree: all leaves, by symptom."""

from gantune.optimizing.troubleshooting import conversion, fidelity, speed
from gantune.optimizing.troubleshooting.leaf import Leaf

LEAVES: tuple[Leaf, ...] = (*conversion.LEAVES, *speed.LEAVES, *fidelity.LEAVES)
