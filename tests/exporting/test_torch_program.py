from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gantune.errors import ExportError
from gantune.exporting import ExportOptions, export_program
from gantune.records.interface import InputSpec, OutputSpec
from gantune.transforms import layout, precision
from transform_samples import EXACT, SMALL_NAMES, original, prepare, relative_error

SOME = ["srvgg", *(pytest.param(name, marks=pytest.mark.slow) for name in SMALL_NAMES if name != "srvgg")]


@pytest.mark.parametrize("name", SOME)
def test_a_saved_program_serves_every_batch(tmp_path: Path, name: str) -> None:
    options = ExportOptions(has_truncation_input=False)
    export_program(layout(prepare(name)), tmp_path / "network.pt2", options)
    program = torch.export.load(tmp_path / "network.pt2").module(check_guards=False)
    network = original(name)
    for n in (1, 3, 8):
        inputs = network.sample_inputs(n, seed=5)
        with torch.inference_mode():
            assert relative_error(program(*inputs.values()), network(**inputs)) <= EXACT


def test_half_precision_weights_survive(tmp_path: Path) -> None:
    network = layout(precision(prepare("srvgg"), "bf16"))
    export_program(network, tmp_path / "network.pt2")
    program = torch.export.load(tmp_path / "network.pt2")
    assert {tensor.dtype for name, tensor in program.state_dict.items() if name.endswith("weight")} >= {
        torch.bfloat16
    }
    image = torch.rand(1, 3, 11, 8)
    with torch.inference_mode():
        torch.testing.assert_close(program.module(check_guards=False)(image), network(image))


def test_channels_last_survives(tmp_path: Path) -> None:
    export_program(layout(prepare("srvgg")), tmp_path / "network.pt2")
    weights = torch.export.load(tmp_path / "network.pt2").state_dict.values()
    assert all(w.is_contiguous(memory_format=torch.channels_last) for w in weights if w.ndim == 4)


class Random(nn.Module):
    family = "random"
    inputs = (InputSpec(name="z", kind="latent", shape=("N", 4)),)
    output = OutputSpec(channels=1)

    def forward(self, z: Tensor) -> Tensor:
        return (z + torch.randn_like(z))[:, None, None]


def test_a_program_that_draws_random_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="draws random numbers"):
        export_program(Random(), tmp_path / "network.pt2")
