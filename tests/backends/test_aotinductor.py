"""A network becomes machine code that gives its image for every batch size, and says what it computes in."""

from pathlib import Path

import pytest
import torch

import gantune.runtime
from gantune import transforms
from gantune.backends import BuildOptions, find_backend
from gantune.errors import CheckpointError, UnavailableError, UnsupportedError
from transform_samples import EXACT, prepare, relative_error


@pytest.mark.slow
@pytest.mark.ci
def test_a_package_gives_the_networks_image_at_any_batch_and_names_its_precision(tmp_path: Path) -> None:
    network = transforms.layout(prepare("srvgg"))
    artifact = find_backend("aotinductor").build(network, tmp_path / "artifact", BuildOptions())
    assert artifact.engine == "aotinductor"
    loaded = gantune.runtime.load(tmp_path / "artifact", threads=1)
    assert loaded.precision_used == "fp32"
    for n in (1, 3):
        inputs = network.sample_inputs(n, seed=2)
        found = torch.from_numpy(loaded(image=inputs["image"].numpy()))
        with torch.inference_mode():
            assert relative_error(found, network(**inputs)) <= EXACT


def test_without_a_compiler_it_is_unavailable_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match=r"needs a C\+\+ compiler"):
        find_backend("aotinductor").build(prepare("srvgg"), tmp_path / "a", BuildOptions())
    assert not (tmp_path / "a").exists()


def test_a_precision_the_network_does_not_compute_in_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="apply the transform precision"):
        find_backend("aotinductor").build(prepare("srvgg"), tmp_path / "a", BuildOptions(precision="bf16"))


def test_a_damaged_package_is_refused_in_one_sentence(tmp_path: Path) -> None:
    from artifact_samples import describe

    (tmp_path / "network.pt2").write_bytes(b"not a package")
    describe(tmp_path, "network.pt2", engine="aotinductor")
    with pytest.raises(CheckpointError, match="torch refuses"):
        gantune.runtime.load(tmp_path)
