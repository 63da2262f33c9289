from pathlib import Path

import pytest
import torch

from gantune.checkpoints import load, load_checkpoint
from gantune.errors import CheckpointError

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("key", ["G_ema", "g_ema", "state_dict", ""])
@pytest.mark.parametrize(
    "name", ["stylegan2-uncond-32.pkl", "stylegan2-resnet-32.pkl", "stylegan2-cond-16-clamp-fp16.pkl"]
)
def test_a_state_dict_gives_the_network_it_came_from(name: str, key: str, tmp_path: Path) -> None:
    original = load(GOLDEN / name)
    state = original.state_dict()
    torch.save({key: state} if key else state, tmp_path / "a.pt")
    checkpoint = load_checkpoint(tmp_path / "a.pt")
    told = {"z_dim", "c_dim", "w_dim", "img_resolution", "img_channels", "architecture"}
    for setting in told:
        assert checkpoint.generator.config[setting] == original.config[setting]
    inputs = original.sample_inputs(2, 0)
    with torch.inference_mode():
        expected = original.mapping(**inputs)
        torch.testing.assert_close(checkpoint.generator.mapping(**inputs), expected)
        if original.config["conv_clamp"] is None:
            torch.testing.assert_close(checkpoint.generator(**inputs), original(**inputs))
    assert "conv_clamp" in str(checkpoint.metadata["assumptions"])


def test_a_state_dict_without_an_image_layer_is_refused(tmp_path: Path) -> None:
    state = load(GOLDEN / "stylegan2-uncond-32.pkl").state_dict()
    del state["synthesis.b32.torgb.weight"]
    torch.save(state, tmp_path / "a.pt")
    with pytest.raises(CheckpointError, match=r"b32\.torgb\.weight"):
        load(tmp_path / "a.pt")
