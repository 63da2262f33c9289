from pathlib import Path

import pytest
import torch

import gantune.runtime
from gantune import transforms
from gantune.backends import BACKENDS, Backend, BuildOptions, find_backend
from gantune.errors import UnsupportedError, UsageError
from gantune.networks.contract import Network
from gantune.records.plan import Step
from transform_samples import EXACT, SMALL_NAMES, build_small, prepare, relative_error

CHEAP = ("openvino", "onnxruntime", "torch")
CASES = [
    pytest.param(name, family, marks=() if (family, name) == ("srvgg", "openvino") else pytest.mark.slow)
    for name in CHEAP
    for family in SMALL_NAMES
]


def apply(network: Network, steps: tuple[Step, ...]) -> Network:
    for step in steps:
        network = getattr(transforms, step.name)(network, **step.options)
    return network


@pytest.mark.parametrize(("name", "family"), CASES)
def test_every_plan_runs_through_the_runtime(tmp_path: Path, name: str, family: str) -> None:
    backend, network = find_backend(name), build_small(family)
    for plan in backend.plans(family):
        transformed = apply(network, plan.steps)
        artifact = backend.build(transformed, tmp_path / plan.name, BuildOptions(precision=plan.precision))
        assert (artifact.engine, artifact.precision) == (name, plan.precision)
        loaded = gantune.runtime.load(tmp_path / plan.name, threads=1)
        for n in (1, 3, 8):
            inputs = network.sample_inputs(n, seed=2)
            found = torch.from_numpy(loaded(**{key: value.numpy() for key, value in inputs.items()}))
            with torch.inference_mode():
                error = relative_error(found, network(**inputs))
            # bfloat16 keeps 8 bits; the bound is a few roundings of the whole range.
            assert error <= (EXACT if plan.precision == "fp32" else 0.05)


@pytest.mark.slow
def test_a_compiled_program_gives_the_same_numbers(tmp_path: Path) -> None:
    backend, network = find_backend("torch_compile"), build_small("srvgg")
    backend.build(transforms.layout(prepare("srvgg")), tmp_path / "artifact", BuildOptions())
    inputs = network.sample_inputs(2, seed=2)
    found = gantune.runtime.load(tmp_path / "artifact")(image=inputs["image"].numpy())
    assert relative_error(torch.from_numpy(found), network(**inputs)) <= EXACT


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_every_backend_says_whether_it_is_here_and_what_suits_it(backend: Backend) -> None:
    assert backend.is_available() == (backend.missing() is None)
    for family in SMALL_NAMES:
        plans = backend.plans(family)
        assert plans
        assert all(step.name in transforms.__all__ for plan in plans for step in plan.steps)


def test_onnx_runtime_refuses_bfloat16(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="not bf16; use openvino or torch"):
        find_backend("onnxruntime").build(prepare("srvgg"), tmp_path / "a", BuildOptions(precision="bf16"))


def test_a_torch_artifact_names_the_precision_of_its_weights(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="apply the transform precision or fusion first"):
        find_backend("torch").build(prepare("srvgg"), tmp_path / "a", BuildOptions(precision="bf16"))
    half = transforms.precision(prepare("srvgg"), "bf16")
    with pytest.raises(UnsupportedError, match="fp32 was asked for"):
        find_backend("torch").build(half, tmp_path / "a", BuildOptions())
    assert not (tmp_path / "a").exists()


def test_an_unknown_engine_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="openvino, torch, torch_compile, onnxruntime"):
        find_backend("tensorflow")
