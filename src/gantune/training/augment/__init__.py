"""Augmentation of what the discriminator sees, differentiable twice, drawn sample by sample."""

from gantune.training.augment.adjust import AugmentState, adjust_probability
from gantune.training.augment.pipeline import augment, draw_augmentation

__all__ = ["AugmentState", "adjust_probability", "augment", "draw_augmentation"]
