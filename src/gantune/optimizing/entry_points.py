"""The commands as functions: `gantune.profile`, `gantune.generate`, `gantune.bench`, `gantune.export`."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from torch import nn

from gantune import runtime
from gantune.backends import BuildOptions, find_backend
from gantune.checkpoints import load
from gantune.errors import UnsupportedError, UsageError
from gantune.machine import describe_machine
from gantune.measuring import ComparisonOptions, compare_subjects
from gantune.measuring.named import name_subjects
from gantune.measuring.original import RunnableOriginal
from gantune.networks.contract import Network
from gantune.optimizing.build import apply_transforms
from gantune.optimizing.optimize import write_network
from gantune.profiling.network_profile import NetworkProfileOptions
from gantune.profiling.run import profile_checkpoint
from gantune.records.artifact import Artifact, Precision
from gantune.records.measurement import Comparison
from gantune.records.profile import Profile
from gantune.runtime.generation import GenerateOptions, generate_images, parse_seeds

NetworkOrPath = nn.Module | str | PathLike[str]


def profile(
    network_or_path: NetworkOrPath,
    *,
    options: NetworkProfileOptions | None = None,
    out: str | PathLike[str] | None = None,
    overwrite: bool = False,
) -> Profile:
    """Say what takes the time of a network, why, and what mending it would gain; write it to `out` if given.

    Raises `CheckpointError` for a refused file, `StorageError` where `out` holds a profile already.
    """
    with _on_disk(network_or_path) as path:
        return profile_checkpoint(
            path,
            options or NetworkProfileOptions(),
            command="gantune.profile",
            out=None if out is None else Path(out),
            overwrite=overwrite,
        )


def generate(
    network_or_path: NetworkOrPath,
    out: str | PathLike[str],
    *,
    seeds: str = "0-3",
    truncation_psi: float | None = None,
    label: int | None = None,
    images: str | PathLike[str] | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write one PNG a seed ("0-3,7"), or one for each picture of `images`; give their paths."""
    options = GenerateOptions(
        seeds=parse_seeds(seeds),
        truncation_psi=truncation_psi,
        label=label,
        images=None if images is None else Path(images),
        overwrite=overwrite,
    )
    with _on_disk(network_or_path) as path:
        network = runtime.load(path) if path.is_dir() else RunnableOriginal(path)
        return list(generate_images(network, Path(out), options=options))


def bench(
    paths: Sequence[str | PathLike[str]],
    *,
    options: ComparisonOptions | None = None,
    threads: int | None = None,
    tune_allocator: bool = False,
) -> Comparison:
    """Time checkpoints and artifacts side by side, each in its own process; the first is the baseline.

    `threads` None is every core. Raises `CheckpointError` for a path where there is nothing.
    """
    if not paths:
        raise UsageError("There is nothing to time; name at least one checkpoint or artifact folder.")
    named = name_subjects(
        [Path(path) for path in paths],
        threads=threads or describe_machine().num_cores,
        tune_allocator=tune_allocator,
    )
    return compare_subjects(named, options or ComparisonOptions(baselines=(named[0].name,)))


def export(
    network_or_path: NetworkOrPath,
    out: str | PathLike[str],
    *,
    engine: str = "onnxruntime",
    precision: Precision = "fp32",
) -> Artifact:
    """Build an engine's artifact, with the transforms that suit the family, and nothing measured.

    Raises `UnsupportedError` where the engine has no plan in that precision, `ExportError` where the build
    fails, `UnavailableError` where the engine is not installed.
    """
    backend = find_backend(engine)
    with _on_disk(network_or_path) as path:
        network = load(path)
        assert isinstance(network, Network)
        plans = backend.plans(network.family)
        suited = [plan for plan in plans if plan.precision == precision]
        if not suited:
            found = ", ".join(sorted({plan.precision for plan in plans}))
            raise UnsupportedError(
                f"{engine} has no plan in {precision} for {network.family}; it has: {found}."
            )
        transformed = apply_transforms(network, suited[0].steps)
        return backend.build(transformed, Path(out), BuildOptions(precision=precision))


@contextmanager
def _on_disk(network_or_path: NetworkOrPath) -> Iterator[Path]:
    """Give a path: the one named, or a file of the network that lasts as long as the block."""
    if not isinstance(network_or_path, nn.Module):
        yield Path(network_or_path)
        return
    with tempfile.TemporaryDirectory(prefix="gantune-network-") as folder:
        path = Path(folder) / "network.safetensors"
        write_network(network_or_path, path)
        yield path
