from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from artifact_samples import DENSE, INPUTS, KERNEL, describe, expected_image
from gantune import runtime
from gantune.runtime.engines.program_file import save_program

pytestmark = pytest.mark.slow


class SampleNetwork(nn.Module):
    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.register_buffer("dense", torch.from_numpy(DENSE))
        self.register_buffer("kernel", torch.from_numpy(KERNEL).to(dtype))

    def forward(self, z: Tensor, truncation_psi: Tensor) -> Tensor:
        field = (z @ self.dense).reshape(-1, 16, 8, 8) * truncation_psi
        return nn.functional.conv2d(field.to(self.kernel.dtype), self.kernel, padding=1).float()


def write_program(directory: Path, dtype: torch.dtype, *, engine: str) -> None:
    program = torch.export.export(
        SampleNetwork(dtype),
        (torch.zeros(2, 4), torch.tensor(1.0)),
        dynamic_shapes=({0: torch.export.Dim("N", min=1)}, {}),
    )
    save_program(program, directory / "network.pt2")
    describe(directory, "network.pt2", engine=engine)


def test_a_program_gives_its_networks_image_at_any_batch(tmp_path: Path) -> None:
    write_program(tmp_path, torch.float32, engine="torch")
    loaded = runtime.load(tmp_path)
    assert [spec.name for spec in loaded.inputs] == [spec.name for spec in INPUTS]
    for batch in (1, 3, 8):
        z = np.random.default_rng(batch).standard_normal((batch, 4)).astype(np.float32)
        np.testing.assert_allclose(loaded(z=z, truncation_psi=0.5), expected_image(z, 0.5), atol=1e-5)


def test_the_precision_of_a_program_is_read_from_its_graph(tmp_path: Path) -> None:
    write_program(tmp_path, torch.bfloat16, engine="torch")
    assert runtime.load(tmp_path).precision_used == "fp32 ×1, bf16 ×1"
