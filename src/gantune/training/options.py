"""What a training run is asked to do: the recipe, which decides the weights, and the speed switches."""

from typing import Literal, get_args

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from gantune.training.precision import Precision

Configuration = Literal["stylegan2", "stylegan3-t", "stylegan3-r", "dcgan", "biggan"]
Augmentation = Literal["none", "ada", "fixed", "diffaugment"]
Group = Literal["blit", "geometry", "color", "filter", "noise", "cutout"]
Loss = Literal["logistic", "hinge"]
Implementation = Literal["auto", "reference", "portable"]
CONFIGURATIONS: tuple[str, ...] = get_args(Configuration)


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class NetworkShape:
    """Choose the networks: a resolution r has min(channel_base / r, channel_max) channels.

    A `map_depth` of None is 8 layers for StyleGAN2 and 2 for StyleGAN3. DCGAN and BigGAN have no mapping
    network and no minibatch statistics.
    """

    cfg: Configuration = "stylegan2"
    channel_base: int = Field(default=32768, ge=4)
    channel_max: int = Field(default=512, ge=1)
    discriminator_channel_base: int | None = Field(default=None, ge=4)
    latent_dim: int = Field(default=512, ge=1)
    map_depth: int | None = Field(default=None, ge=1)
    mbstd_group: int = Field(default=4, ge=1)


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class AugmentOptions:
    """Choose the augmentation of what the discriminator sees.

    `ada` moves the probability p so that the sign of the logits of real images averages `target`; `fixed`
    keeps `p`. `ada_kimg` is how many thousand images p takes from 0 to 1. `groups` are the kinds of
    transforms of both.
    """

    kind: Augmentation = "ada"
    p: float = Field(default=0.0, ge=0, le=1)
    target: float = Field(default=0.6, gt=-1, lt=1)
    ada_kimg: float = Field(default=500, gt=0)
    interval: int = Field(default=4, ge=1)
    groups: tuple[Group, ...] = ("blit", "geometry", "color")


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Recipe:
    """Everything that decides the trained weights; two runs of one recipe and one data set are bit-equal.

    `gamma` is the weight of R1, `pl_weight` of the path length penalty (0: none; StyleGAN3 has none), and
    both run every so many steps only. `average_kimg` is the half-life of the averaged generator.
    """

    shape: NetworkShape = Field(default_factory=NetworkShape)
    augment: AugmentOptions = Field(default_factory=AugmentOptions)
    loss: Loss = "logistic"
    batch: int = Field(default=32, ge=1)
    gamma: float = Field(default=1.0, ge=0)
    pl_weight: float = Field(default=2.0, ge=0)
    pl_decay: float = Field(default=0.01, gt=0, le=1)
    style_mixing: float = Field(default=0.9, ge=0, le=1)
    g_lr: float = Field(default=0.002, gt=0)
    d_lr: float = Field(default=0.002, gt=0)
    beta1: float = Field(default=0.0, ge=0, lt=1)
    beta2: float = Field(default=0.99, ge=0, lt=1)
    g_reg_interval: int = Field(default=4, ge=1)
    d_reg_interval: int = Field(default=16, ge=1)
    average_kimg: float = Field(default=10.0, gt=0)
    average_rampup: float | None = Field(default=0.05, gt=0)
    cond: bool = False
    mirror: bool = False
    seed: int = Field(default=0, ge=0)


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class SpeedOptions:
    """Choose how the steps are computed; every switch off is the plain trainer that others are compared with.

    `implementation` is the form of the operations. `fused_optimizer` and `grouped_average` handle all tensors
    in one call. `workers` read images ahead. `accumulation` splits a batch into that many backward passes.
    `precision` is that of dense convolutions in phases without a second derivative. A phase that takes longer
    than `patience_s` is reported. `probe_memory` runs every phase once before a run, to see whether it fits.
    `tuned_allocator` lets glibc keep large tensors in its heap. `checkpointing` computes blocks again for the
    backward pass: less memory, more time. `compiled` compiles the passes of phases without a second
    derivative.
    """

    implementation: Implementation = "auto"
    precision: Precision = "fp32"
    channels_last: bool = True
    fused_optimizer: bool = True
    grouped_average: bool = True
    workers: int = Field(default=1, ge=0)
    accumulation: int = Field(default=1, ge=1)
    patience_s: float = Field(default=600, gt=0)
    probe_memory: bool = True
    tuned_allocator: bool = False
    checkpointing: bool = False
    compiled: bool = False


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Schedule:
    """Say how long to train and how often to report: a tick is `tick_kimg` thousand images.

    A snapshot of the networks is written every `snap` ticks, and at the end; the state from which a run
    resumes at least every `save_minutes` besides.
    """

    kimg: float = Field(default=1000, ge=0)
    tick_kimg: float = Field(default=4, gt=0)
    snap: int = Field(default=50, ge=1)
    save_minutes: float = Field(default=10, gt=0)
