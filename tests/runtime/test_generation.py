from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gantune.errors import StorageError, UsageError
from gantune.records.interface import InputSpec, OutputSpec
from gantune.runtime.generation import GenerateOptions, generate_images, parse_seeds
from gantune.runtime.images import read_image, write_png
from gantune.runtime.sampling import Array


class Constant:
    """A network whose image shows what it was given: the first value of its first input."""

    output = OutputSpec(low=-1, high=1)

    def __init__(self, *inputs: InputSpec) -> None:
        self.inputs = inputs
        self.given: list[dict[str, Array]] = []

    def __call__(self, **arrays: Array) -> NDArray[np.float32]:
        self.given.append(arrays)
        return np.zeros((1, 3, 4, 4), dtype=np.float32)


LATENT = InputSpec(name="z", kind="latent", shape=("N", 4))
PSI = InputSpec(name="truncation_psi", kind="scalar", shape=(), default=1.0)
LABEL = InputSpec(name="c", kind="class", shape=("N", 3))
INDEX = InputSpec(name="y", kind="class", shape=("N",), dtype="int64", high=2)
IMAGE = InputSpec(name="image", kind="image", shape=("N", 3, "H", "W"), low=0, high=1)


@pytest.mark.parametrize(("text", "seeds"), [("7", (7,)), ("0-2,9", (0, 1, 2, 9)), (" 3 , 1-1", (3, 1))])
def test_seeds_are_numbers_and_ranges(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "0-99999999", "1,,2"])
def test_other_seeds_are_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        parse_seeds(text)


def test_class_and_psi_reach_the_network(tmp_path: Path) -> None:
    for label in (LABEL, INDEX):
        network = Constant(LATENT, label, PSI)
        options = GenerateOptions(seeds=(0,), label=2, truncation_psi=0.5, overwrite=True)
        generate_images(network, tmp_path, options=options)
        (given,) = network.given
        assert float(given["truncation_psi"]) == 0.5
        chosen = given[label.name]
        assert chosen.tolist() == ([2] if label is INDEX else [[0, 0, 1]])


@pytest.mark.parametrize(
    ("inputs", "options", "word"),
    [
        ((LATENT,), GenerateOptions(label=0), "--class"),
        ((LATENT,), GenerateOptions(truncation_psi=0.5), "--trunc"),
        ((LATENT,), GenerateOptions(images=Path(".")), "--input"),
        ((IMAGE,), GenerateOptions(), "--input"),
        ((LATENT, LABEL), GenerateOptions(label=3), "0 to 2"),
    ],
)
def test_options_that_do_not_fit_are_named_and_leave_nothing(
    tmp_path: Path, inputs: tuple[InputSpec, ...], options: GenerateOptions, word: str
) -> None:
    with pytest.raises(UsageError, match=word):
        generate_images(Constant(*inputs), tmp_path / "out", options=options)
    assert not list(tmp_path.rglob("*.png"))


def test_pictures_are_transformed_one_by_one_under_their_names(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    for name, size in (("a", 3), ("b", 5)):
        write_png(source / f"{name}.png", np.full((size, size, 3), 255, dtype=np.uint8))
    network = Constant(IMAGE)
    written = generate_images(network, tmp_path / "out", options=GenerateOptions(images=source))
    assert [path.name for path in written] == ["a.png", "b.png"]
    assert [given["image"].shape for given in network.given] == [(1, 3, 3, 3), (1, 3, 5, 5)]
    assert read_image(written[0], low=-1, high=1).shape == (3, 4, 4)


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    network = Constant(LATENT)
    generate_images(network, tmp_path, options=GenerateOptions(seeds=(0,)))
    with pytest.raises(StorageError, match="--overwrite"):
        generate_images(network, tmp_path, options=GenerateOptions(seeds=(1, 0)))
    assert [path.name for path in tmp_path.iterdir()] == ["seed0000.png"]
