"""Find a batch size: all phases at doubling sizes, until more images a step no longer give more a second."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import psutil

from gantune.training.memory_probe import Probe, probe_phases
from gantune.training.options import Recipe, SpeedOptions
from gantune.training.shapes import ImageShape

SMALLEST_GAIN = 1.05
LARGEST_BATCH = 256
_RESERVE = 0.8


@dataclass(frozen=True)
class BatchAdvice:
    """The batch to take, why the search ended, and what was tried."""

    batch: int
    reason: str
    probes: tuple[Probe, ...]


def find_batch(
    recipe: Recipe,
    speed: SpeedOptions,
    images: ImageShape,
    *,
    cap: int = LARGEST_BATCH,
    free_bytes: int | None = None,
    probe: Callable[[Recipe, SpeedOptions, ImageShape], Probe] = probe_phases,
) -> BatchAdvice:
    """Double the batch from one group of the minibatch statistics up to `cap`.

    It ends where the throughput grows by less than 5 %, or where the phase that needs the most memory would
    need more than 80 % of `free_bytes` (None: what is free now) at the next size.
    """
    limit = _RESERVE * (psutil.virtual_memory().available if free_bytes is None else free_bytes)
    size = recipe.shape.mbstd_group * speed.accumulation
    probes = [probe(replace(recipe, batch=size), speed, images)]
    while True:
        last = probes[-1]
        next_peak = last.resident_bytes + 2 * last.worst.peak_bytes
        if 2 * size > cap:
            return BatchAdvice(size, f"the cap of {cap} is reached", tuple(probes))
        if next_peak > limit:
            reason = f"{last.worst.name} would need {next_peak / 2**30:.1f} GiB at a batch of {2 * size}"
            return BatchAdvice(size, reason, tuple(probes))
        probes.append(probe(replace(recipe, batch=2 * size), speed, images))
        if probes[-1].images_per_s < SMALLEST_GAIN * last.images_per_s:
            reason = f"a batch of {2 * size} gives no more images a second ({probes[-1].images_per_s:.1f})"
            return BatchAdvice(size, reason, tuple(probes))
        size *= 2
