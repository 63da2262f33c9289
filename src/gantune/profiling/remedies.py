"""Remedies for a network's inference that can be tried here, each alone, in a fresh process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gantune.machine import TUNED_ALLOCATOR, is_glibc
from gantune.measuring import CheckpointSource, ComparisonOptions, Subject, compare_subjects
from gantune.measuring.bootstrap import bootstrap_median
from gantune.records.candidate import Interval
from gantune.records.measurement import Comparison
from gantune.records.profile import FindingKind

AS_IS = "as_is"
# A gain whose lower end does not exceed this is no reason to change anything.
MIN_GAIN = 1.05
_BFLOAT16_UNITS = {"avx512_bf16", "amx_bf16", "bf16"}


@dataclass(frozen=True)
class Remedy:
    """A change of how the network runs, and the finding whose remedy it is."""

    name: str
    kind: FindingKind
    subject: Subject
    advice: str


@dataclass(frozen=True)
class Trial:
    """What trying the remedies gave."""

    comparison: Comparison
    remedies: tuple[Remedy, ...]

    def gain(self, remedy: Remedy) -> Interval | None:
        """Give the paired speedup of a remedy, or None where it failed."""
        return self.comparison.speedups.get(remedy.name, {}).get(AS_IS)


def list_remedies(
    path: Path, *, threads: int, num_cores: int, instruction_sets: Sequence[str] = ()
) -> tuple[Remedy, ...]:
    """List what can be tried on a checkpoint: allocator, operations, layout, bfloat16, threads."""

    def subject(name: str, *, count: int = threads, environment: Mapping[str, str] | None = None) -> Subject:
        source = CheckpointSource(
            path=path,
            implementation="auto" if name == "operations" else "reference",
            is_channels_last=name in ("layout", "bfloat16"),
            is_autocast=name == "bfloat16",
        )
        return Subject(name=name, source=source, threads=count, environment=dict(environment or {}))

    found = []
    if is_glibc():
        settings = " ".join(f"{name}={value}" for name, value in TUNED_ALLOCATOR.items())
        advice = f"Start the process with {settings}, or load artifacts with tune_allocator=True."
        found.append(
            Remedy("allocator", "allocator", subject("allocator", environment=TUNED_ALLOCATOR), advice)
        )
    advice = "Use gantune.ops (or gantune.ops.install() under an existing checkout)."
    found.append(Remedy("operations", "reference_ops", subject("operations"), advice))
    advice = "network.to(memory_format=torch.channels_last), and the inputs alike."
    found.append(Remedy("layout", "memory_layout", subject("layout"), advice))
    if _BFLOAT16_UNITS & set(instruction_sets):
        advice = 'torch.autocast("cpu", dtype=torch.bfloat16) around a channels-last network.'
        found.append(Remedy("bfloat16", "dominant_operator", subject("bfloat16"), advice))
    for count in sorted({1, num_cores} - {threads}):
        name = f"{count} threads" if count > 1 else "1 thread"
        advice = f"torch.set_num_threads({count}), or OMP_NUM_THREADS={count}."
        found.append(Remedy(name, "threads", subject(name, count=count), advice))
    return tuple(found)


def try_larger_batch(
    path: Path, *, threads: int, options: ComparisonOptions, growth: int, num_pairs: int = 5
) -> Interval | None:
    """Give how many times as many images a second `growth` times the batch makes; None where it fails."""
    batches = (options.batch_size, growth * options.batch_size) * num_pairs
    as_is = Subject(name=AS_IS, source=CheckpointSource(path=path), threads=threads)
    told = replace(options, num_rounds=1, throughput_batch_sizes=batches, num_throughput_calls=5)
    measured = compare_subjects([as_is], told).result(AS_IS).measured
    if measured is None or len(measured.throughput) < len(batches):
        return None
    speeds = [one.images_s for one in measured.throughput]
    return bootstrap_median([b / a for a, b in zip(speeds[::2], speeds[1::2], strict=True)])


def try_remedies(
    path: Path,
    *,
    threads: int,
    num_cores: int,
    options: ComparisonOptions,
    instruction_sets: Sequence[str] = (),
    is_tried: bool = True,
) -> Trial:
    """Measure the network as it is, and with each remedy alone, in interleaved rounds."""
    listed = list_remedies(path, threads=threads, num_cores=num_cores, instruction_sets=instruction_sets)
    remedies = listed if is_tried else ()
    as_is = Subject(name=AS_IS, source=CheckpointSource(path=path), threads=threads)
    comparison = compare_subjects([as_is, *(remedy.subject for remedy in remedies)], options)
    return Trial(comparison, remedies)
