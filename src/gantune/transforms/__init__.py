"""Network → network, on a deep copy: no data, no training, no engine."""

from gantune.transforms.freezing import freeze
from gantune.transforms.fusion import fusion
from gantune.transforms.layout import layout
from gantune.transforms.precision import precision
from gantune.transforms.pruning import prune
from gantune.transforms.resampling import resampling
from gantune.transforms.static_modulation import static_modulation

__all__ = ["freeze", "fusion", "layout", "precision", "prune", "resampling", "static_modulation"]
