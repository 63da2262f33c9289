"""Train GANs: phases as data, lazy regularization, augmentation, exact resume."""

from gantune.training.loop import TrainRequest, TrainResult, open_data, train
from gantune.training.options import AugmentOptions, NetworkShape, Recipe, Schedule, SpeedOptions

__all__ = [
    "AugmentOptions",
    "NetworkShape",
    "Recipe",
    "Schedule",
    "SpeedOptions",
    "TrainRequest",
    "TrainResult",
    "open_data",
    "train",
]
