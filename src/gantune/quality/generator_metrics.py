"""Metrics of a generator itself: path length and equivariance; a new one is one line in the catalogue."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast

import numpy as np
from torch import Tensor, nn

from gantune.errors import UnavailableError
from gantune.networks.contract import Network
from gantune.quality.difference import interval, resample_means
from gantune.quality.equivariance import EquivarianceOptions, Motion, equivariance_db
from gantune.quality.lpips import LPIPS
from gantune.quality.path_length import PathLengthOptions, perceptual_path_length
from gantune.quality.pixels import pixels_from_output
from gantune.records.score import Score, ScoreIdentity


@dataclass(frozen=True)
class GeneratorMetric:
    """A name a user may ask for, and how `n` samples of a network are scored."""

    name: str
    compute: Callable[[nn.Module, int, int, LPIPS | None], Score]


def _path_length(
    network: nn.Module,
    n: int,
    seed: int,
    lpips: LPIPS | None,
    *,
    space: Literal["z", "w"],
    sampling: Literal["full", "end"],
) -> Score:
    if lpips is None:
        raise UnavailableError(
            "Path length needs LPIPS: name VGG-16's weights with --lpips-vgg and LPIPS's own with "
            "--lpips-linear."
        )
    output = cast(Network, network).output

    def distance(a: Tensor, b: Tensor) -> Tensor:
        sides = (pixels_from_output(side, output, is_rounded=False) for side in (a, b))
        distances: Tensor = lpips(*sides)
        return distances

    options = PathLengthOptions(space=space, sampling=sampling, num_paths=n, seed=seed)
    value, samples = perceptual_path_length(network, distance, options)
    means = resample_means(samples[:, None], num_resamples=1000, seed=0)[:, 0]
    low, high = interval(means + (value - samples.mean()))
    identity = ScoreIdentity(
        metric=f"ppl_{space}_{sampling}",
        features="vgg16",
        weights_sha256=lpips.weights_sha256,
        pixels="float",
        num_images=n,
        settings={"epsilon": options.epsilon, "trimmed_share": options.trimmed_share},
    )
    return Score(value=value, low=low, high=high, identity=identity)


def _equivariance(
    network: nn.Module, n: int, seed: int, lpips: LPIPS | None, *, name: str, motion: Motion
) -> Score:
    value, errors = equivariance_db(network, motion, EquivarianceOptions(num_samples=n, seed=seed))
    means = resample_means(np.asarray(errors)[:, None], num_resamples=1000, seed=0)[:, 0]
    low, high = interval(10 * np.log10(4 / np.maximum(means, np.finfo(np.float64).tiny)))
    identity = ScoreIdentity(metric=name, features="pixels", pixels="float", num_images=n)
    return Score(value=value, unit="dB", low=low, high=high, identity=identity)


GENERATOR_METRICS: tuple[GeneratorMetric, ...] = (
    GeneratorMetric("ppl_z_full", partial(_path_length, space="z", sampling="full")),
    GeneratorMetric("ppl_z_end", partial(_path_length, space="z", sampling="end")),
    GeneratorMetric("ppl_w_full", partial(_path_length, space="w", sampling="full")),
    GeneratorMetric("ppl_w_end", partial(_path_length, space="w", sampling="end")),
    GeneratorMetric("eq_t", partial(_equivariance, name="eq_t", motion="translation")),
    GeneratorMetric("eq_t_frac", partial(_equivariance, name="eq_t_frac", motion="fractional_translation")),
    GeneratorMetric("eq_r", partial(_equivariance, name="eq_r", motion="rotation")),
)
