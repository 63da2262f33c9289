import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from gantune.checkpoints import conversion, convert, load, load_checkpoint
from gantune.checkpoints.loading import read_content
from gantune.errors import CheckpointError, QualityError, StorageError

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = (
    "stylegan2-cond-16-clamp-fp16.pkl",
    "stylegan2ada-uncond-32.pkl",
    "stylegan3-r-32.pkl",
    "stylegan2-tf-32.pkl",
    "rosinality-32.pt",
    "biggan-32.pth",
)


@pytest.fixture
def converted(tmp_path: Path) -> Path:
    convert(GOLDEN / "stylegan2-uncond-32.pkl", tmp_path / "a.safetensors")
    return tmp_path / "a.safetensors"


@pytest.mark.parametrize("name", NAMES)
def test_a_converted_checkpoint_holds_the_same_networks(name: str, tmp_path: Path) -> None:
    result = convert(GOLDEN / name, tmp_path / "a.safetensors")
    before, after = load_checkpoint(GOLDEN / name), load_checkpoint(tmp_path / "a.safetensors")
    assert result.max_abs == 0
    assert after.format == "gantune-safetensors"
    for role in ("generator", "raw_generator", "discriminator"):
        old, new = getattr(before, role), getattr(after, role)
        assert (old is None) == (new is None)
        if old is not None:
            assert new.family == old.family
            assert new.config == old.config
            for key, tensor in old.state_dict().items():
                assert torch.equal(new.state_dict()[key], tensor)


def test_the_file_names_families_configurations_and_roles(converted: Path) -> None:
    with safe_open(converted, framework="pt") as stored:
        described = json.loads(stored.metadata()["gantune"])
        assert "generator.synthesis.b4.const" in stored.keys()  # noqa: SIM118
    assert described["format_version"] == 1
    assert described["networks"]["generator"]["family"] == "stylegan2"
    assert described["networks"]["generator"]["config"]["img_resolution"] == 32
    assert set(described["networks"]) == {"generator", "raw_generator", "discriminator"}


def test_an_existing_file_is_kept_unless_overwriting_is_asked_for(converted: Path) -> None:
    with pytest.raises(StorageError, match="--overwrite"):
        convert(GOLDEN / "stylegan3-r-32.pkl", converted)
    assert load(converted).family == "stylegan2"
    convert(GOLDEN / "stylegan3-r-32.pkl", converted, overwrite=True)
    assert load(converted).family == "stylegan3"


def test_a_place_that_cannot_be_written_is_a_storage_error_that_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        convert(GOLDEN / "biggan-32.pth", tmp_path / "missing" / "a.safetensors")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_there", [False, True])
def test_a_copy_that_gives_another_picture_leaves_the_place_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    out = tmp_path / "a.safetensors"
    if is_there:
        out.write_text("the only copy")

    def load_another(path: Path) -> torch.nn.Module:
        network = load(path)
        network.synthesis.b32.torgb.bias.add_(0.01)
        return network

    monkeypatch.setattr(conversion, "load", load_another)
    with pytest.raises(QualityError, match="differs"):
        convert(GOLDEN / "stylegan2-uncond-32.pkl", out, overwrite=True)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["the only copy"] * is_there


def rewrite(path: Path, described: object | None = None, **changes: torch.Tensor) -> None:
    with safe_open(path, framework="pt") as stored:
        metadata = stored.metadata()
    if described is not None:
        metadata = {"gantune": described if isinstance(described, str) else json.dumps(described)}
    save_file({**load_file(path), **changes}, path, metadata)


def description(path: Path) -> dict[str, object]:
    with safe_open(path, framework="pt") as stored:
        described: dict[str, object] = json.loads(stored.metadata()["gantune"])
    return described


def test_half_precision_storage_is_loaded_as_float32(converted: Path) -> None:
    halves = {name: tensor.half() for name, tensor in load_file(converted).items()}
    rewrite(converted, **halves)
    generator = load(converted)
    assert generator.synthesis.b4.const.dtype == torch.float32
    torch.testing.assert_close(generator.synthesis.b4.const, halves["generator.synthesis.b4.const"].float())


def test_double_precision_storage_is_loaded_as_float32(converted: Path) -> None:
    rewrite(converted, **{name: tensor.double() for name, tensor in load_file(converted).items()})
    assert load(converted).synthesis.b4.const.dtype == torch.float32


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused_by_name(converted: Path, value: float) -> None:
    weight = load_file(converted)["generator.mapping.fc1.weight"]
    weight[3, 4] = value
    rewrite(converted, **{"generator.mapping.fc1.weight": weight})
    with pytest.raises(CheckpointError, match=r"'mapping\.fc1\.weight' has 1 of 1024 values"):
        load(converted)


def test_a_damaged_discriminator_leaves_the_generator_usable(converted: Path) -> None:
    rewrite(converted, **{"discriminator.b4.out.bias": torch.full((1,), torch.nan)})
    checkpoint = load_checkpoint(converted)
    assert checkpoint.discriminator is None
    assert "b4.out.bias" in checkpoint.refused["discriminator"]


def test_a_weight_of_another_shape_is_refused_by_name(converted: Path) -> None:
    rewrite(converted, **{"generator.mapping.fc1.weight": torch.zeros(3, 3)})
    with pytest.raises(CheckpointError, match=r"'mapping\.fc1\.weight' has the shape \[3, 3\]"):
        load(converted)


def test_a_tensor_of_no_described_network_is_refused(converted: Path) -> None:
    rewrite(converted, **{"critic.weight": torch.zeros(3)})
    with pytest.raises(CheckpointError, match=r"critic\.weight"):
        load(converted)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("img_resolution", 2**23),
        ("channel_base", 2**60),
        ("w_dim", 2**24),
        ("z_dim", -1),
        ("img_channels", 1e300),
        ("unheard_of", 1),
        ("mapping_kwargs", {"num_layers": 10**9}),
        ("architecture", "cubist"),
        ("resample_filter", []),
    ],
)
def test_a_configuration_no_network_has_is_refused_at_once(converted: Path, key: str, value: object) -> None:
    described = description(converted)
    described["networks"]["generator"]["config"][key] = value  # type: ignore[index]
    rewrite(converted, described)
    with pytest.raises(CheckpointError):
        load(converted)


@pytest.mark.parametrize(
    "described",
    [
        "[" * 2000,
        "not json",
        "[]",
        {"format_version": 99},
        {"format_version": 1},
        {"format_version": 1, "networks": {"generator": 3}},
        {"format_version": 1, "networks": {"generator": {"family": "stylegan9", "config": {}}}},
        {"format_version": 1, "networks": {"discriminator": {"family": "stylegan2", "config": {}}}},
    ],
)
def test_a_damaged_description_is_refused(converted: Path, described: object) -> None:
    rewrite(converted, described)
    with pytest.raises(CheckpointError):
        load(converted)


def test_a_truncated_safetensors_file_is_refused(converted: Path) -> None:
    data = converted.read_bytes()
    for cut in (5, 9, 100, 5000, len(data) // 2, len(data) - 1):
        converted.write_bytes(data[:cut])
        with pytest.raises(CheckpointError):
            read_content(converted)
