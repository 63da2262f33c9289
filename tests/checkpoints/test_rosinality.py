from pathlib import Path
from typing import Any

import pytest
import torch

from gantune.checkpoints import load, load_checkpoint
from gantune.checkpoints.loading import read_content
from gantune.checkpoints.torch_file import read_torch_file
from gantune.errors import CheckpointError

GOLDEN = Path(__file__).parents[1] / "golden" / "rosinality-32.pt"


@pytest.fixture
def stored() -> dict[str, Any]:
    content = read_torch_file(GOLDEN)
    assert isinstance(content, dict)
    return content


def save(content: object, tmp_path: Path) -> Path:
    path = tmp_path / "a.pt"
    torch.save(content, path)
    return path


def test_widths_depth_and_resolution_come_from_the_shapes() -> None:
    content = read_content(GOLDEN)
    config = content.networks["generator"].config
    assert (config["z_dim"], config["w_dim"], config["img_resolution"]) == (32, 32, 32)
    assert config["mapping_kwargs"] == {"num_layers": 4, "lr_multiplier": 0.01}
    assert config["resample_filter"] == [0.125, 0.375, 0.375, 0.125]
    assert content.metadata["arguments"]["iter"] == 800000  # type: ignore[index]


def test_kernels_carry_the_gain_that_stands_before_demodulation(stored: dict[str, Any]) -> None:
    # README of the golden data: × 1/√(in·k²), here 1/√(16·9) = 1/12.
    state = read_content(GOLDEN).networks["generator"].state
    expected = stored["g_ema"]["convs.2.conv.weight"][0] / 12
    torch.testing.assert_close(state["synthesis.b16.conv0.weight"], expected)


def test_a_file_with_the_averaged_generator_alone_is_enough(stored: dict[str, Any], tmp_path: Path) -> None:
    path = save({"g_ema": stored["g_ema"], "latent_avg": stored["latent_avg"]}, tmp_path)
    checkpoint = load_checkpoint(path)
    assert checkpoint.raw_generator is None
    assert torch.equal(checkpoint.generator.mapping.w_avg, stored["latent_avg"][0])


def test_the_names_of_data_parallel_training_are_understood(stored: dict[str, Any], tmp_path: Path) -> None:
    parallel = {f"module.{name}": tensor for name, tensor in stored["g_ema"].items()}
    generator = load(save({"g_ema": parallel, "latent_avg": stored["latent_avg"]}, tmp_path))
    expected = load(GOLDEN)
    for name, tensor in expected.state_dict().items():
        assert torch.equal(generator.state_dict()[name], tensor)


def test_a_missing_mean_latent_is_estimated_and_said(stored: dict[str, Any], tmp_path: Path) -> None:
    content = read_content(save(stored["g_ema"], tmp_path))
    assert "latent_avg" in str(content.metadata["assumptions"])
    generator = load(tmp_path / "a.pt")
    z = torch.randn(20_000, 32, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        mean = generator.mapping(z)[:, 0].mean(dim=0)
    torch.testing.assert_close(generator.mapping.w_avg, mean, atol=0.05, rtol=0)


def test_missing_noise_is_drawn_from_a_seed_and_said(stored: dict[str, Any], tmp_path: Path) -> None:
    quiet = {name: tensor for name, tensor in stored["g_ema"].items() if not name.startswith("noises.")}
    content = read_content(save({"g_ema": quiet, "latent_avg": stored["latent_avg"]}, tmp_path))
    assert "noise" in str(content.metadata["assumptions"])
    first, second = load(tmp_path / "a.pt"), load(tmp_path / "a.pt")
    assert torch.equal(first.synthesis.b8.conv0.noise_const, second.synthesis.b8.conv0.noise_const)
    assert first.synthesis.b8.conv0.noise_const.std() > 0.5


def test_a_missing_weight_is_named(stored: dict[str, Any], tmp_path: Path) -> None:
    del stored["g_ema"]["convs.3.conv.modulation.bias"]
    with pytest.raises(CheckpointError, match=r"convs\.3\.conv\.modulation\.bias"):
        load(save(stored, tmp_path))


def test_a_weight_of_another_rank_is_named(stored: dict[str, Any], tmp_path: Path) -> None:
    stored["g_ema"]["to_rgbs.1.conv.weight"] = torch.zeros(3)
    with pytest.raises(CheckpointError, match=r"to_rgbs\.1\.conv\.weight.*\[3\]"):
        load(save(stored, tmp_path))


def test_a_damaged_discriminator_leaves_the_generator_usable(stored: dict[str, Any], tmp_path: Path) -> None:
    del stored["d"]["final_linear.0.weight"]
    checkpoint = load_checkpoint(save(stored, tmp_path))
    assert checkpoint.discriminator is None
    assert "final_linear.0.weight" in checkpoint.refused["discriminator"]
