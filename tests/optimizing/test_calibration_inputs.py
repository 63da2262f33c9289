from pathlib import Path

import numpy as np
import pytest
import torch

from gantune.errors import UsageError
from gantune.networks.catalogue import build_network
from gantune.optimizing.calibration_inputs import check_batches, draw_calibration_inputs
from gantune.runtime.images import write_png
from network_samples import SMALL_GENERATORS

SRVGG = build_network("srvgg", SMALL_GENERATORS["srvgg"])
STYLEGAN2 = build_network("stylegan2", SMALL_GENERATORS["stylegan2"])


def draw(network: torch.nn.Module, **options: object) -> list[dict[str, torch.Tensor]]:
    usual = {"num_samples": 10, "seed": 3, "pictures": None, "image_size": 16}
    return list(draw_calibration_inputs(network, **(usual | options)))  # type: ignore[arg-type]


def test_every_sample_is_drawn_once_and_again_the_same() -> None:
    batches = draw(STYLEGAN2)
    assert [len(batch["z"]) for batch in batches] == [4, 4, 2]
    rows = torch.cat([batch["z"] for batch in batches])
    assert len(torch.unique(rows, dim=0)) == 10
    assert all(torch.equal(a["z"], b["z"]) for a, b in zip(batches, draw(STYLEGAN2), strict=True))
    assert not torch.equal(batches[0]["z"], draw(STYLEGAN2, seed=4)[0]["z"])


def test_style_networks_see_classes_and_two_truncations() -> None:
    batches = draw(STYLEGAN2)
    assert [float(batch["truncation_psi"]) for batch in batches] == pytest.approx([1.0, 0.7, 1.0])
    assert all(torch.equal(batch["c"].sum(dim=1), torch.ones(len(batch["c"]))) for batch in batches)


def test_pictures_are_cropped_and_scaled(tmp_path: Path) -> None:
    write_png(tmp_path / "ramp.png", np.tile(np.arange(40, dtype=np.uint8)[:, None, None], (1, 30, 3)))
    (batch,) = draw(SRVGG, num_samples=3, pictures=tmp_path)
    crops = batch["image"] * 255
    assert crops.shape == (3, 3, 16, 16)
    assert torch.allclose(crops.diff(dim=2), torch.ones(3, 3, 15, 16), atol=1e-3)
    assert len({round(float(crop[0, 0, 0])) for crop in crops}) > 1


def test_pictures_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    write_png(tmp_path / "small.png", np.zeros((12, 30, 3), np.uint8))
    with pytest.raises(UsageError, match="30×12, smaller than the 16 pixels of a crop"):
        draw(SRVGG, pictures=tmp_path)
    with pytest.raises(UsageError, match="this network takes none"):
        draw(STYLEGAN2, pictures=tmp_path)


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "'image' holds NaN or infinity"), (2.0, r"from 2 to 2; they must lie in \[0")],
)
def test_batches_of_the_callers_own_are_checked_as_they_are_used(value: float, message: str) -> None:
    good = {"image": np.zeros((2, 3, 8, 8), np.float32)}
    bad = {"image": np.full((2, 3, 8, 8), value, np.float32)}
    checked = check_batches(SRVGG.inputs, iter([good, bad]))  # type: ignore[arg-type]
    assert next(checked)["image"].shape == (2, 3, 8, 8)
    with pytest.raises(UsageError, match=message):
        next(checked)
