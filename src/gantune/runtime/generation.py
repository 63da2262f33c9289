"""Pictures from anything that runs: one a seed, or one an input picture."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gantune.errors import StorageError, UsageError
from gantune.records.interface import InputSpec, OutputSpec
from gantune.runtime.images import list_images, read_image, to_pixels, write_png
from gantune.runtime.sampling import Array, draw_inputs

MAX_SEEDS = 100_000
MAX_TRUNCATION = 1000
_MAX_DIGITS = 20
_MAX_SHOWN = 80


class RunnableNetwork(Protocol):
    """Whatever takes arrays by input name and gives images: an artifact, or a checkpoint's network."""

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """List the inputs."""
        ...

    @property
    def output(self) -> OutputSpec:
        """Describe the output."""
        ...

    def __call__(self, **arrays: Array) -> NDArray[np.float32]:
        """Run the network on one batch."""
        ...


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """What to draw: `seeds`, or the pictures at `images` for an image-to-image network."""

    seeds: tuple[int, ...] = (0, 1, 2, 3)
    truncation_psi: float | None = None
    label: int | None = None
    images: Path | None = None
    overwrite: bool = False


def parse_seeds(text: str) -> tuple[int, ...]:
    """Read seeds written as `0-3,7`; raise `UsageError` for anything else."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not _is_number(first) or (dash and not _is_number(last)):
            raise UsageError(
                f"The seeds {text[:_MAX_SHOWN]!r} are not numbers and ranges. Write them as 0-3,7."
            )
        low, high = int(first), int(last) if dash else int(first)
        if high < low or high - low + len(seeds) >= MAX_SEEDS:
            raise UsageError(
                f"The seed range {part!r} is empty or longer than {MAX_SEEDS:,}. Write it as 0-3."
            )
        seeds.extend(range(low, high + 1))
    return tuple(dict.fromkeys(seeds))


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= _MAX_DIGITS


def generate_images(
    network: RunnableNetwork,
    out: Path,
    *,
    options: GenerateOptions,
    on_progress: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Write one PNG a seed (`seed0007.png`) or an input picture (its own name) into `out`; list them.

    Raises `UsageError` where the options do not fit the network, `StorageError` where a file is in the way.
    """
    jobs = list(_list_jobs(network.inputs, options))
    choices = _choose(network.inputs, options)
    targets = [out / f"{name}.png" for name, _ in jobs]
    _refuse_existing(targets, overwrite=options.overwrite)
    out.mkdir(parents=True, exist_ok=True)
    for target, (name, draw) in zip(targets, jobs, strict=True):
        on_progress(f"generating {name}")
        image = network(**(draw() | choices))[0]
        write_png(target, to_pixels(image, network.output))
    return targets


def _list_jobs(
    inputs: Sequence[InputSpec], options: GenerateOptions
) -> Iterator[tuple[str, Callable[[], dict[str, Array]]]]:
    image_input = next((spec for spec in inputs if spec.kind == "image"), None)
    if options.images is not None and image_input is None:
        raise UsageError(
            "This network takes no picture, but --input was given. Leave it out and use --seeds."
        )
    if image_input is not None and options.images is None:
        raise UsageError("This network transforms pictures; name one, or a folder, with --input.")
    if image_input is None or options.images is None:
        for seed in options.seeds:
            yield f"seed{seed:04d}", partial(draw_inputs, inputs, 1, seed)
        return
    for path in list_images(options.images):
        yield path.stem, partial(_read_input, image_input, path)


def _read_input(spec: InputSpec, path: Path) -> dict[str, Array]:
    low = 0.0 if spec.low is None else spec.low
    high = 1.0 if spec.high is None else spec.high
    return {spec.name: read_image(path, low=low, high=high)[None]}


def _choose(inputs: Sequence[InputSpec], options: GenerateOptions) -> dict[str, Array]:
    """Give the inputs that the options fix."""
    chosen: dict[str, Array] = {}
    kinds: dict[str, InputSpec] = {spec.kind: spec for spec in inputs}
    if options.label is not None:
        label = _require(kinds, "class", "--class")
        chosen[label.name] = _as_class(label, options.label)
    if options.truncation_psi is not None:
        psi = _require(kinds, "scalar", "--trunc")
        if not abs(options.truncation_psi) <= MAX_TRUNCATION:
            raise UsageError(
                f"--trunc is {options.truncation_psi:g}; it must be a number from -{MAX_TRUNCATION} to "
                f"{MAX_TRUNCATION}, and 1 is no truncation."
            )
        chosen[psi.name] = np.asarray(options.truncation_psi, dtype=np.float32)
    return chosen


def _require(kinds: dict[str, InputSpec], kind: str, option: str) -> InputSpec:
    if kind not in kinds:
        raise UsageError(
            f"{option} was given, but this network has no {kind} input; it takes: {sorted(kinds)}."
        )
    return kinds[kind]


def _as_class(spec: InputSpec, label: int) -> Array:
    num_classes = int(spec.high or 0) + 1 if spec.dtype == "int64" else int(spec.shape[1])
    if label >= num_classes:
        raise UsageError(f"--class {label} does not exist; the classes are 0 to {num_classes - 1}.")
    if spec.dtype == "int64":
        return np.asarray([label], dtype=np.int64)
    one_hot = np.zeros((1, num_classes), dtype=np.float32)
    one_hot[0, label] = 1
    return one_hot


def _refuse_existing(targets: Sequence[Path], *, overwrite: bool) -> None:
    twice = [target.name for target, times in Counter(targets).items() if times > 1]
    if twice:
        raise UsageError(f"Two of the pictures would both become {twice[0]}. Give them names that differ.")
    present = next((target for target in targets if target.exists()), None)
    if present is not None and not overwrite:
        raise StorageError(f"{present} exists already. Name another --out, or add --overwrite to replace it.")
