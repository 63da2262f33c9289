import pickle
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gantune.checkpoints import load, load_checkpoint
from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.checkpoints.inert import InertObject
from gantune.checkpoints.loading import read_content
from gantune.errors import CheckpointError

GOLDEN = Path(__file__).parents[1] / "golden" / "stylegan2-tf-32.pkl"


class Network:
    """The class a TensorFlow pickle names: only its `__dict__` is stored."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def variable(self, name: str) -> int:
        return [stored for stored, _ in self.variables].index(name)


Network.__module__ = "dnnlib.tflib.network"


def thaw(value: object) -> Any:
    if isinstance(value, InertObject):
        assert isinstance(value.state, dict)
        return Network({name: thaw(item) for name, item in value.state.items()})
    if isinstance(value, dict):
        return {name: thaw(item) for name, item in value.items()}
    return value


@pytest.fixture
def stored() -> list[Network]:
    payload = CheckpointFile(GOLDEN).payload
    assert isinstance(payload, tuple)
    return [thaw(network) for network in payload]


def write(networks: list[Network], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    module = types.ModuleType("dnnlib.tflib.network")
    module.Network = Network  # type: ignore[attr-defined]
    for name in ("dnnlib", "dnnlib.tflib"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "dnnlib.tflib.network", module)
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps(tuple(networks), 2))
    return path


def test_the_configuration_comes_from_the_variables() -> None:
    content = read_content(GOLDEN)
    config = content.networks["generator"].config
    assert (config["z_dim"], config["c_dim"], config["img_resolution"]) == (32, 0, 32)
    assert (config["channel_base"], config["channel_max"]) == (256, 16)
    assert config["architecture"] == "skip"
    assert content.networks["discriminator"].config["architecture"] == "resnet"
    assert content.metadata["truncation_psi"] == 0.5


def test_a_rewritten_pickle_of_protocol_2_gives_the_same_weights(
    stored: list[Network], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewritten, golden = load(write(stored, tmp_path, monkeypatch)), load(GOLDEN)
    for name, tensor in golden.state_dict().items():
        assert torch.equal(rewritten.state_dict()[name], tensor)


def test_a_conditional_discriminator_leaves_the_generator_usable(
    stored: list[Network], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored[1].static_kwargs["label_size"] = 10
    checkpoint = load_checkpoint(write(stored, tmp_path, monkeypatch))
    assert checkpoint.discriminator is None
    assert "conditional" in checkpoint.refused["discriminator"]


def test_a_network_of_the_first_stylegan_is_refused_by_name(
    stored: list[Network], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored[2].components["synthesis"].variables.append(("4x4/Const/StyleMod/weight", np.zeros(3, np.float32)))
    with pytest.raises(CheckpointError, match="first StyleGAN"):
        load(write(stored, tmp_path, monkeypatch))


def test_labels_that_are_joined_before_normalizing_are_refused(
    stored: list[Network], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored[2].components["mapping"].variables.append(("LabelConcat/weight", np.zeros((5, 32), np.float32)))
    with pytest.raises(CheckpointError, match="labels"):
        load(write(stored, tmp_path, monkeypatch))


@pytest.mark.parametrize(("name", "value"), [("nonlinearity", "relu"), ("resample_kernel", [1, 2, 1])])
def test_settings_that_would_change_the_picture_are_refused(
    name: str, value: object, stored: list[Network], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored[2].static_kwargs[name] = value
    with pytest.raises(CheckpointError, match=name):
        load(write(stored, tmp_path, monkeypatch))


def test_a_missing_variable_is_named(
    stored: list[Network], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synthesis = stored[2].components["synthesis"]
    del synthesis.variables[synthesis.variable("4x4/Const/const")]
    with pytest.raises(CheckpointError, match="4x4/Const/const"):
        load(write(stored, tmp_path, monkeypatch))


def test_nan_weights_are_refused_by_name(
    stored: list[Network], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synthesis = stored[2].components["synthesis"]
    synthesis.variables[synthesis.variable("8x8/Conv1/bias")][1][3] = np.nan
    with pytest.raises(CheckpointError, match=r"synthesis\.b8\.conv1\.bias"):
        load(write(stored, tmp_path, monkeypatch))
