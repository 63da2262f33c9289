"""Verify the best: extreme inputs, the first layer that differs, other batch sizes; profile the original."""

from collections.abc import Mapping, Sequence

import torch
from pydantic import BaseModel, ConfigDict
from torch import nn

from gantune.errors import GantuneError, UnavailableError
from gantune.measuring import (
    ArtifactSource,
    CheckpointSource,
    ComparisonOptions,
    Subject,
    WorkerPool,
    compare_subjects,
    tuned_baseline,
)
from gantune.measuring.energy import EnergyCounter, find_counter, measure_joules
from gantune.measuring.process import WorkerProcess
from gantune.networks.contract import Network
from gantune.ops import use_implementation
from gantune.optimizing.build import apply_transforms
from gantune.optimizing.samples import draw_extreme_inputs
from gantune.optimizing.trial import Images
from gantune.profiling.layers import time_layers
from gantune.quality.divergence import find_divergence
from gantune.quality.paired import count_non_finite, psnr_db, snr_db
from gantune.records.candidate import Candidate, Throughput
from gantune.records.plan import Plan, Step
from gantune.records.report import Energy, ExtremeCheck, LayerTime
from gantune.runtime import read_artifact
from gantune.runtime.sampling import Array, draw_inputs

# Above this the throughput rounds would only find out how the machine swaps.
_MAX_THROUGHPUT_BYTES = 2**28
# Counters move about once a millisecond; this long, their steps do not matter.
ENERGY_MS = 2_000.0


class Verification(BaseModel):
    """What is known beyond the comparison: the original's layers, extreme inputs, other batch sizes."""

    model_config = ConfigDict(frozen=True)

    layers: tuple[LayerTime, ...]
    extremes: tuple[ExtremeCheck, ...] = ()
    first_divergence: str | None = None
    throughput: dict[str, tuple[Throughput, ...]] = {}
    energy: tuple[Energy, ...] = ()


def verify_best(
    network: Network,
    original: CheckpointSource,
    subject: Subject | None,
    *,
    plan: Plan,
    best: Candidate | None,
    throughput_batches: tuple[int, ...],
    image_bytes: int,
    pool: WorkerPool,
) -> Verification:
    """Profile the original; where there is a best candidate, put it to every further test.

    The processes in `pool` run larger batches here, so their memory is no figure afterwards.
    """
    assert isinstance(network, nn.Module)
    inputs = draw_inputs(network.inputs, 1, plan.seed, image_size=plan.image_size)
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    torch.set_num_threads(plan.threads)
    with use_implementation("reference"):
        layers = time_layers(network, tensors)
    if subject is None or best is None:
        return Verification(layers=layers)
    assert isinstance(subject.source, ArtifactSource)
    shipped = read_artifact(subject.source.directory).inputs
    extremes = draw_extreme_inputs(shipped, seed=plan.seed, image_size=plan.image_size)
    batches = tuple(batch for batch in throughput_batches if batch * image_bytes <= _MAX_THROUGHPUT_BYTES)
    return Verification(
        layers=layers,
        extremes=_check_extremes(
            tuned_baseline(original, threads=plan.threads),
            subject,
            extremes,
            network.output.value_range,
            pool,
        ),
        first_divergence=_name_divergence(network, best, plan, tensors),
        throughput=_measure_throughput(original, subject, plan, batches, pool),
        energy=measure_energy([tuned_baseline(original, threads=plan.threads), subject], plan),
    )


def measure_energy(subjects: Sequence[Subject], plan: Plan) -> tuple[Energy, ...]:
    """Read the joules of an image for each subject; where the machine hides them, say why."""
    try:
        counter = find_counter()
        return tuple(_read_energy(counter, subject, plan) for subject in subjects)
    except UnavailableError as error:
        return tuple(Energy(subject=subject.name, reason=str(error)) for subject in subjects)


def _read_energy(counter: EnergyCounter, subject: Subject, plan: Plan) -> Energy:
    with WorkerProcess(subject) as worker:
        worker.load()
        worker.prepare(batch_size=plan.batch, seed=plan.seed, image_size=plan.image_size)
        (first_ms,), _ = worker.run(1)
        num_calls = max(3, round(ENERGY_MS / max(first_ms, 1e-3)))
        joules = measure_joules(counter, lambda: worker.run(num_calls), num_calls=1)
    return Energy(
        subject=subject.name, joules_an_image=joules / num_calls / plan.batch, source=counter.source
    )


def _check_extremes(
    original: Subject,
    candidate: Subject,
    extremes: Mapping[str, Mapping[str, Array]],
    value_range: float,
    pool: WorkerPool,
) -> tuple[ExtremeCheck, ...]:
    before, after = pool.take(original), pool.take(candidate)
    before.load()
    after.load()
    return tuple(
        _compare_extreme(name, _answer(before.worker, arrays), _answer(after.worker, arrays), value_range)
        for name, arrays in extremes.items()
    )


def _answer(worker: WorkerProcess, arrays: Mapping[str, Array]) -> Images:
    worker.prepare_arrays(arrays)
    return worker.output()


def _compare_extreme(name: str, expected: Images, found: Images, value_range: float) -> ExtremeCheck:
    is_finite = count_non_finite(found) == 0
    if not is_finite or count_non_finite(expected):
        return ExtremeCheck(name=name, is_finite=is_finite, psnr_db=None, snr_db=None)
    return ExtremeCheck(
        name=name,
        is_finite=True,
        psnr_db=psnr_db(found, expected, value_range=value_range),
        snr_db=snr_db(found, expected),
    )


def _name_divergence(
    network: nn.Module, best: Candidate, plan: Plan, inputs: Mapping[str, torch.Tensor]
) -> str | None:
    """Compare the transformed network with the original, layer by layer, in torch.

    Where the engine alone lowers the precision, the transform that does the same in torch stands in for it; a
    program of torch has lowered it itself, and integers stand in the exported graph alone.
    """
    planned = next(candidate for candidate in plan.candidates if candidate.name == best.name)
    steps = best.plan
    if planned.precision == "int8":
        return (
            "not compared: the integers stand in the exported graph; gantune quantize --analyze ranks layers"
        )
    if planned.precision != "fp32" and planned.engine != "torch":
        steps += (Step(kind="transform", name="precision", options={"dtype": planned.precision}),)
    try:
        transformed = apply_transforms(network, steps)
        difference = find_divergence(network, transformed, inputs)
    except GantuneError as error:
        return f"not compared: {error}"
    if difference is None:
        return None
    return f"{difference.name} (relative error {difference.relative_error:.1e})"


def _measure_throughput(
    original: CheckpointSource, candidate: Subject, plan: Plan, batches: tuple[int, ...], pool: WorkerPool
) -> dict[str, tuple[Throughput, ...]]:
    comparison = compare_subjects(
        [tuned_baseline(original, threads=plan.threads), candidate],
        ComparisonOptions(
            seed=plan.seed, image_size=plan.image_size, num_rounds=1, throughput_batch_sizes=batches
        ),
        pool=pool,
    )
    return {
        result.name: result.measured.throughput
        for result in comparison.results
        if result.measured is not None
    }
