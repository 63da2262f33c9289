import contextlib
import pickle
import random
import shutil
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from gantune.checkpoints import Checkpoint, load, load_checkpoint
from gantune.errors import CheckpointError
from gantune.networks.contract import Network

GOLDEN = Path(__file__).parents[1] / "golden"
STYLEGANS = (
    "stylegan2-uncond-32.pkl",
    "stylegan2-resnet-32.pkl",
    "stylegan2-cond-16-clamp-fp16.pkl",
    "stylegan2ada-uncond-32.pkl",
    "stylegan3-t-32.pkl",
    "stylegan3-r-32.pkl",
    "stylegan2-tf-32.pkl",
    "rosinality-32.pt",
)


def numbers(name: str) -> dict[str, Tensor]:
    return load_file((GOLDEN / name).with_suffix(".safetensors"))


def assert_golden(actual: Tensor, expected: Tensor) -> None:
    """Hold the bound of the golden data: max |a−b| ≤ 1e-4·max(1, max|b|)."""
    assert actual.shape == expected.shape
    assert float((actual - expected).abs().max()) <= 1e-4 * max(1.0, float(expected.abs().max()))


@pytest.fixture(scope="module", params=STYLEGANS)
def golden(request: pytest.FixtureRequest) -> tuple[Checkpoint, dict[str, Tensor]]:
    return load_checkpoint(GOLDEN / request.param), numbers(request.param)


def test_the_generator_is_the_averaged_one_and_gives_the_golden_numbers(
    golden: tuple[Checkpoint, dict[str, Tensor]],
) -> None:
    checkpoint, stored = golden
    generator, z, c = checkpoint.generator, stored["z"], stored.get("c")
    with torch.inference_mode():
        ws = generator.mapping(z, c)
        assert_golden(ws, stored["ws"])
        assert_golden(generator.synthesis(ws), stored["img_const"])
        if "img_none" in stored:
            assert_golden(generator.synthesis(ws, noise_mode="none"), stored["img_none"])
        for key, psi in (("07", 0.7), ("05", 0.5)):
            if f"ws_psi{key}" in stored:
                assert_golden(generator.mapping(z, c, truncation_psi=psi), stored[f"ws_psi{key}"])
            if f"img_psi{key}_const" in stored:
                assert_golden(generator(z, c, truncation_psi=psi), stored[f"img_psi{key}_const"])
        if "ws_psi05_cut3" in stored:
            cut = generator.mapping(z, c, truncation_psi=0.5, truncation_cutoff=3)
            assert_golden(cut, stored["ws_psi05_cut3"])


def test_the_discriminator_gives_the_golden_logits(golden: tuple[Checkpoint, dict[str, Tensor]]) -> None:
    checkpoint, stored = golden
    assert checkpoint.discriminator is not None
    inputs = {"img": stored["img_const"], **({"c": stored["c"]} if "c" in stored else {})}
    with torch.inference_mode():
        assert_golden(checkpoint.discriminator(**inputs), stored["logits"])


def test_networks_keep_the_contract(golden: tuple[Checkpoint, dict[str, Tensor]]) -> None:
    checkpoint, _ = golden
    assert checkpoint.refused == {}
    for network in (checkpoint.generator, checkpoint.raw_generator, checkpoint.discriminator):
        assert isinstance(network, Network)
        assert not network.training
        assert {tensor.dtype for tensor in network.state_dict().values()} == {torch.float32}


def test_the_raw_generator_is_another_network_than_the_averaged_one() -> None:
    stored = numbers("stylegan2-uncond-32.pkl")
    raw = load_checkpoint(GOLDEN / "stylegan2-uncond-32.pkl").raw_generator
    assert raw is not None
    with torch.inference_mode():
        image = raw.synthesis(stored["ws"])
    assert float((image - stored["img_const"]).abs().max()) > 1e-2


def test_a_network_trained_in_half_precision_runs_in_float32(tmp_path: Path) -> None:
    generator = load(GOLDEN / "stylegan2-cond-16-clamp-fp16.pkl")
    config = dict(generator.config)
    assert config["num_fp16_res"] == 2
    plain = type(generator)(**{**config, "num_fp16_res": 0}).eval()
    plain.load_state_dict(generator.state_dict())
    inputs = generator.sample_inputs(2, 0)
    with torch.inference_mode():
        image = generator(**inputs)
        torch.testing.assert_close(image, plain(**inputs), atol=1e-5, rtol=1e-5)
    assert bool(torch.isfinite(image).all())


@pytest.mark.parametrize("name", ["weights.pt", "weights.safetensors", "weights"])
def test_a_file_is_known_by_its_content_and_not_by_its_name(tmp_path: Path, name: str) -> None:
    renamed = tmp_path / name
    shutil.copy(GOLDEN / "stylegan2-uncond-32.pkl", renamed)
    assert load_checkpoint(renamed).format == "nvidia-pickle"


def hostile_pickle(tmp_path: Path) -> bytes:
    command = f"touch {tmp_path / 'canary'}"
    return b"\x80\x02cos\nsystem\nX" + len(command).to_bytes(4, "little") + command.encode() + b"\x85R."


def test_a_hostile_pickle_under_any_name_is_refused_without_side_effect(tmp_path: Path) -> None:
    for name in ("a.pkl", "a.safetensors", "a.pt", "a.param"):
        path = tmp_path / name
        path.write_bytes(hostile_pickle(tmp_path))
        with pytest.raises(CheckpointError, match=r"os\.system"):
            load(path)
    assert not (tmp_path / "canary").exists()


def bad_files(tmp_path: Path) -> dict[str, Path]:
    files = {
        name: tmp_path / name for name in ("empty", "text.pkl", "noise", "list.pkl", "zeros", "photo.png")
    }
    files["empty"].touch()
    files["text.pkl"].write_text("I am not a network, whatever my name says.\n")
    files["noise"].write_bytes(random.Random(0).randbytes(4096))
    files["list.pkl"].write_bytes(pickle.dumps([1, 2, 3]))
    files["zeros"].write_bytes(bytes(4096))
    files["photo.png"].write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    files["missing"] = tmp_path / "missing.pkl"
    files["directory"] = tmp_path
    other = tmp_path / "other.safetensors"
    save_file({"x": torch.zeros(2)}, other)
    files["foreign safetensors"] = other
    header = tmp_path / "header.safetensors"
    header.write_bytes((2**39).to_bytes(8, "little") + b'{"a":1}')
    files["safetensors with a header of 512 GB"] = header
    nested = tmp_path / "nested.safetensors"
    text = b'{"__metadata__":' + b"[" * 100_000
    nested.write_bytes(len(text).to_bytes(8, "little") + text)
    files["safetensors nested without end"] = nested
    return files


def test_every_bad_file_is_refused_in_one_sentence_that_names_it(tmp_path: Path) -> None:
    for kind, path in bad_files(tmp_path).items():
        with pytest.raises(CheckpointError) as caught:
            load(path)
        message = str(caught.value)
        assert str(path) in message, kind
        assert "\n" not in message, kind
        assert caught.value.exit_code == 3


def test_the_refusal_lists_what_is_read_and_says_what_was_found(tmp_path: Path) -> None:
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps({"model": 1, "epoch": 2}))
    with pytest.raises(CheckpointError, match=r"'model', 'epoch'.*StyleGAN3.*rosinality.*safetensors"):
        load(path)


@pytest.mark.parametrize("name", STYLEGANS)
def test_a_truncated_golden_checkpoint_is_refused(name: str, tmp_path: Path) -> None:
    data = (GOLDEN / name).read_bytes()
    path = tmp_path / name
    for cut in (1, 2, 9, 200, 5000, len(data) // 2, len(data) - 200, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(CheckpointError):
            load(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", STYLEGANS)
def test_a_mutated_golden_checkpoint_loads_or_is_refused_in_bounded_time(name: str, tmp_path: Path) -> None:
    original = (GOLDEN / name).read_bytes()
    path = tmp_path / name
    chance = random.Random(name)
    for _ in range(40):
        data = bytearray(original)
        for _ in range(chance.choice((1, 4, 64))):
            # Mostly where the structure is: the first quarter holds few numbers and many opcodes.
            data[int(len(data) * chance.random() ** 2)] = chance.randrange(256)
        path.write_bytes(data)
        started = time.monotonic()
        with contextlib.suppress(CheckpointError):
            load_checkpoint(path)
        assert time.monotonic() - started < 20
