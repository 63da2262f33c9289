import io
import pickle
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gantune.checkpoints import load, load_checkpoint
from gantune.checkpoints.loading import read_content
from gantune.errors import CheckpointError

GOLDEN = Path(__file__).parents[1] / "golden"


class _Persistent:
    """What NVIDIA's code pickles a module as: a call with its class name, source text and `__dict__`."""

    def __init__(self, class_name: str, state: dict[str, object], source: str = "") -> None:
        self.meta: dict[str, Any] = {
            "type": "class",
            "version": 6,
            "module_src": source,
            "class_name": class_name,
            "state": state,
        }

    def __reduce__(self) -> tuple[object, ...]:
        return _reconstruct_persistent_obj, (self.meta,)


def _reconstruct_persistent_obj(meta: object) -> object:
    raise AssertionError(f"a reader called this with {meta}")


_reconstruct_persistent_obj.__module__ = "torch_utils.persistence"


def write(content: object, path: Path) -> Path:
    package, module = types.ModuleType("torch_utils"), types.ModuleType("torch_utils.persistence")
    module._reconstruct_persistent_obj = _reconstruct_persistent_obj  # type: ignore[attr-defined]
    sys.modules |= {"torch_utils": package, "torch_utils.persistence": module}
    try:
        buffer = io.BytesIO()
        pickle.Pickler(buffer, 4).dump(content)
    finally:
        del sys.modules["torch_utils"], sys.modules["torch_utils.persistence"]
    path.write_bytes(buffer.getvalue())
    return path


def persistent(module: torch.nn.Module, *, source: str = "") -> _Persistent:
    """Take one of gantune's networks for the authors': same names, so the same `__dict__`."""
    state: dict[str, object] = {
        "_parameters": dict(module._parameters),
        "_buffers": dict(module._buffers),
        "_modules": {name: persistent(child, source=source) for name, child in module._modules.items()},
        "_init_args": (),
        "_init_kwargs": {},
    }
    for name in ("conv_clamp", "architecture", "num_layers", "w_avg_beta", "group_size", "num_channels"):
        if hasattr(module, name):
            state[name] = getattr(module, name)
    return _Persistent(type(module).__name__, state, source)


def generator(tmp_path: Path, **changes: object) -> tuple[torch.nn.Module, _Persistent]:
    network = load(GOLDEN / "stylegan2-uncond-32.pkl")
    stored = persistent(network)
    keywords = {
        "z_dim": 32,
        "c_dim": 0,
        "w_dim": 32,
        "img_resolution": 32,
        "img_channels": 3,
        "channel_base": 256,
        "channel_max": 16,
    }
    stored.meta["state"]["_init_kwargs"] = {**keywords, **changes}
    return network, stored


def child(stored: _Persistent, name: str) -> _Persistent:
    found: _Persistent = stored.meta["state"]["_modules"][name]
    return found


def assert_same_weights(actual: torch.nn.Module, expected: torch.nn.Module) -> None:
    for name, tensor in expected.state_dict().items():
        assert torch.equal(actual.state_dict()[name], tensor), name


def test_a_bare_generator_is_read(tmp_path: Path) -> None:
    network, stored = generator(tmp_path)
    assert_same_weights(load(write(stored, tmp_path / "a.pkl")), network)


def test_source_text_in_a_generator_is_never_run(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    network = load(GOLDEN / "stylegan2-uncond-32.pkl")
    _, stored = generator(tmp_path)
    hostile = persistent(network, source=f"open({str(canary)!r}, 'w').write('ran')")
    hostile.meta["state"]["_init_kwargs"] = stored.meta["state"]["_init_kwargs"]
    assert_same_weights(load(write({"G_ema": hostile}, tmp_path / "a.pkl")), network)
    assert not canary.exists()


def test_positional_arguments_are_understood(tmp_path: Path) -> None:
    network, stored = generator(tmp_path)
    keywords = stored.meta["state"]["_init_kwargs"]
    names = ("z_dim", "c_dim", "w_dim", "img_resolution", "img_channels")
    stored.meta["state"]["_init_args"] = tuple(keywords.pop(name) for name in names)
    assert_same_weights(load(write({"G_ema": stored}, tmp_path / "a.pkl")), network)


def test_without_an_averaged_generator_the_raw_one_is_taken(tmp_path: Path) -> None:
    network, stored = generator(tmp_path)
    content = read_content(write({"G": stored, "D": None}, tmp_path / "a.pkl"))
    assert content.metadata["generator_entry"] == "G"
    assert list(content.networks) == ["generator"]
    assert_same_weights(load(tmp_path / "a.pkl"), network)


def test_a_clamp_that_only_the_layers_tell_is_taken_from_them(tmp_path: Path) -> None:
    _, stored = generator(tmp_path)
    child(child(child(stored, "synthesis"), "b32"), "conv1").meta["state"]["conv_clamp"] = 256
    content = read_content(write({"G_ema": stored}, tmp_path / "a.pkl"))
    assert content.networks["generator"].config["conv_clamp"] == 256


def test_a_clamp_of_the_discriminator_is_taken_from_its_layers(tmp_path: Path) -> None:
    _, stored = generator(tmp_path)
    network = load_checkpoint(GOLDEN / "stylegan2-uncond-32.pkl").discriminator
    assert network is not None
    critic = persistent(network)
    keywords = {"c_dim": 0, "img_resolution": 32, "img_channels": 3}
    critic.meta["state"]["_init_kwargs"] = keywords
    child(child(critic, "b32"), "conv1").meta["state"]["conv_clamp"] = 64
    content = read_content(write({"G_ema": stored, "D": critic}, tmp_path / "a.pkl"))
    config = content.networks["discriminator"].config
    assert config["conv_clamp"] == 64
    # Widths that no argument tells come from the shapes.
    assert (config["channel_base"], config["channel_max"]) == (256, 16)


class Critic:
    """A discriminator whose class nobody knows."""

    def __init__(self) -> None:
        self.weights = [1, 2, 3]


def test_an_unknown_discriminator_or_augmentation_is_no_obstacle(tmp_path: Path) -> None:
    network, stored = generator(tmp_path)
    content = {
        "G_ema": stored,
        "D": Critic(),
        "augment_pipe": Critic(),
        "training_set_kwargs": {"x": Critic()},
    }
    checkpoint = load_checkpoint(write(content, tmp_path / "a.pkl"))
    assert_same_weights(checkpoint.generator, network)
    assert checkpoint.discriminator is None
    assert "Critic" in checkpoint.refused["discriminator"]


def test_an_unknown_generator_is_refused_by_the_name_of_its_class(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="Critic"):
        load(write({"G_ema": Critic()}, tmp_path / "a.pkl"))


def test_a_generator_of_another_architecture_is_refused_by_the_name_of_its_class(tmp_path: Path) -> None:
    other = persistent(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    with pytest.raises(CheckpointError, match="Sequential"):
        load(write({"G_ema": other}, tmp_path / "a.pkl"))


def test_an_unknown_object_in_place_of_a_weight_is_named(tmp_path: Path) -> None:
    _, stored = generator(tmp_path)
    child(child(stored, "mapping"), "fc1").meta["state"]["_parameters"]["bias"] = Critic()
    with pytest.raises(CheckpointError, match=r"mapping\.fc1\.bias.*Critic"):
        load(write({"G_ema": stored}, tmp_path / "a.pkl"))


def contain_itself(stored: _Persistent) -> None:
    stored.meta["state"]["_modules"]["again"] = stored


def double_again_and_again(stored: _Persistent) -> None:
    block = stored
    for _ in range(40):
        block = _Persistent(
            "Block", {"_parameters": {}, "_buffers": {}, "_modules": {"a": block, "b": block}}
        )
    stored.meta["state"]["_modules"]["more"] = block


def claim_a_large_network(stored: _Persistent) -> None:
    stored.meta["state"]["_init_kwargs"]["channel_base"] = 2**22
    stored.meta["state"]["_init_kwargs"]["channel_max"] = 2**20


def leave_out_a_weight(stored: _Persistent) -> None:
    child(stored, "mapping").meta["state"]["_modules"].pop("fc2")


def spoil_a_weight(stored: _Persistent) -> None:
    child(child(stored, "mapping"), "fc1").meta["state"]["_parameters"]["bias"] = torch.full((32,), torch.nan)


@pytest.mark.parametrize(
    "spoil",
    [contain_itself, double_again_and_again, claim_a_large_network, leave_out_a_weight, spoil_a_weight],
)
def test_a_hostile_or_damaged_tree_is_refused(spoil: Callable[[_Persistent], None], tmp_path: Path) -> None:
    _, stored = generator(tmp_path)
    spoil(stored)
    with pytest.raises(CheckpointError):
        load(write({"G_ema": stored}, tmp_path / "a.pkl"))


def test_the_configuration_is_the_authors_own() -> None:
    content = read_content(GOLDEN / "stylegan2ada-uncond-32.pkl")
    config = content.networks["generator"].config
    assert config["channel_base"] == 256
    assert config["architecture"] == "skip"
    assert config["mapping_kwargs"] == {"num_layers": 4, "w_avg_beta": 0.995, "lr_multiplier": 0.01}
    assert "synthesis_kwargs" not in config
    content = read_content(GOLDEN / "stylegan3-r-32.pkl")
    config = content.networks["generator"].config
    assert config["use_radial_filters"] is True
    assert config["conv_kernel"] == 1
    assert content.networks["discriminator"].family == "stylegan2"
