"""The contract of networks, held by every entry of the catalogue."""

import json

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gantune.errors import UnsupportedError, UsageError
from gantune.networks.catalogue import FAMILIES, build_network
from gantune.networks.contract import Network, StyleNetwork
from network_samples import SMALL_DISCRIMINATORS, SMALL_GENERATORS

GENERATORS = [family.name for family in FAMILIES]
DISCRIMINATORS = [family.name for family in FAMILIES if family.discriminator is not None]
ENTRIES = [(name, "generator") for name in GENERATORS] + [(name, "discriminator") for name in DISCRIMINATORS]
every_network = pytest.mark.parametrize(("family", "role"), ENTRIES)


class _DtypeRecorder(TorchDispatchMode):
    """Remember the dtype of every tensor that an operation gives."""

    def __init__(self):
        super().__init__()
        self.dtypes = set()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        for value in result if isinstance(result, tuple | list) else [result]:
            if isinstance(value, torch.Tensor):
                self.dtypes.add(value.dtype)
        return result


def build(family, role="generator"):
    configs = SMALL_GENERATORS if role == "generator" else SMALL_DISCRIMINATORS
    assert family in configs, f"add a small configuration of the {family} {role} to network_samples.py"
    torch.manual_seed(1)
    return build_network(family, configs[family], role=role)


@every_network
def test_a_network_satisfies_the_contract(family, role):
    network = build(family, role)
    assert isinstance(network, Network)
    assert not network.training
    tensors = [*network.parameters(), *network.buffers()]
    assert {tensor.device.type for tensor in tensors} == {"cpu"}
    assert {tensor.dtype for tensor in tensors if tensor.is_floating_point()} == {torch.float32}
    assert not any(parameter.requires_grad for parameter in network.parameters())


@every_network
def test_the_configuration_survives_json_and_builds_an_equal_network(family, role):
    network = build(family, role)
    config = json.loads(json.dumps(network.config))
    again = type(network)(**config)
    shapes = {name: tensor.shape for name, tensor in network.state_dict().items()}
    assert {name: tensor.shape for name, tensor in again.state_dict().items()} == shapes
    assert again.config == network.config
    assert again.family == network.family


@every_network
def test_sample_inputs_are_what_inputs_say(family, role):
    network = build(family, role)
    drawn = network.sample_inputs(3, seed=5)
    assert list(drawn) == [spec.name for spec in network.inputs]
    for spec in network.inputs:
        tensor = drawn[spec.name]
        assert str(tensor.dtype) == f"torch.{spec.dtype}"
        assert len(tensor.shape) == len(spec.shape)
        fixed = [(found, told) for found, told in zip(tensor.shape, spec.shape, strict=True) if told != "N"]
        assert all(found == told for found, told in fixed if isinstance(told, int))


@every_network
def test_sample_i_does_not_depend_on_the_number_of_samples(family, role):
    network = build(family, role)
    few, many = network.sample_inputs(2, seed=5), network.sample_inputs(5, seed=5)
    for name, tensor in few.items():
        assert torch.equal(tensor, many[name][:2])
    other = network.sample_inputs(2, seed=6)
    assert not all(torch.equal(tensor, other[name]) for name, tensor in few.items())


@every_network
def test_forward_gives_what_output_says(family, role):
    network = build(family, role)
    with torch.no_grad():
        result = network(**network.sample_inputs(4, seed=0))
        by_position = network(*network.sample_inputs(4, seed=0).values())
    assert result.dtype == torch.float32
    assert result.shape[:2] == (4, network.output.channels)
    assert result.ndim == (4 if network.output.kind == "image" else 2)
    assert result.isfinite().all()
    assert torch.equal(by_position, result)


@every_network
def test_no_double_precision_in_a_forward(family, role):
    network = build(family, role)
    with torch.no_grad(), _DtypeRecorder() as recorder:
        network(**network.sample_inputs(2, seed=0))
    assert torch.float32 in recorder.dtypes
    assert torch.float64 not in recorder.dtypes


@pytest.mark.parametrize("family", GENERATORS)
def test_an_image_does_not_depend_on_its_batch(family):
    network = build(family)
    inputs = network.sample_inputs(4, seed=3)
    with torch.no_grad():
        whole = network(**inputs)
        halves = [network(**{name: tensor[i : i + 2] for name, tensor in inputs.items()}) for i in (0, 2)]
    torch.testing.assert_close(torch.cat(halves), whole, rtol=0, atol=1e-4 * max(1, whole.abs().max().item()))


@pytest.mark.parametrize("family", GENERATORS)
def test_an_image_depends_on_every_input(family):
    network = build(family)
    inputs = network.sample_inputs(2, seed=3)
    with torch.no_grad():
        before = network(**inputs)
        for name, tensor in inputs.items():
            after = network(**{**inputs, name: tensor.roll(1, dims=-1)})
            assert not torch.equal(after, before), f"{name} is without effect"


@pytest.mark.slow
@pytest.mark.parametrize("family", GENERATORS)
def test_one_exported_program_takes_every_batch_size(family):
    network = build(family)
    shapes = {spec.name: {0: torch.export.Dim("batch", min=1, max=64)} for spec in network.inputs}
    with torch.no_grad():
        program = torch.export.export(network, (), network.sample_inputs(2, seed=0), dynamic_shapes=shapes)
        for n in (1, 3):
            inputs = network.sample_inputs(n, seed=n)
            torch.testing.assert_close(program.module()(**inputs), network(**inputs), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", ["stylegan2", "stylegan3"])
def test_style_families_satisfy_the_style_contract(family):
    network = build(family)
    assert isinstance(network, StyleNetwork)
    inputs = network.sample_inputs(2, seed=0)
    with torch.no_grad():
        ws = network.mapping(**inputs)
        image = network.synthesis(ws, noise_mode="none")
    assert ws.shape == (2, network.num_ws, network.w_dim)
    assert image.shape == (2, network.img_channels, network.resolution, network.resolution)


def test_an_unknown_family_is_refused_with_the_known_ones():
    with pytest.raises(UnsupportedError, match=r"'stylegan9'.*stylegan2"):
        build_network("stylegan9", {})


def test_a_missing_role_is_refused():
    with pytest.raises(UnsupportedError, match=r"srvgg.*no discriminator"):
        build_network("srvgg", {}, role="discriminator")


def test_a_wrong_key_is_refused_with_the_allowed_ones():
    with pytest.raises(UsageError, match=r"depth_of_field.*img_resolution"):
        build_network("stylegan2", {**SMALL_GENERATORS["stylegan2"], "depth_of_field": 2})
