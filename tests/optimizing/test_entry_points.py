from pathlib import Path

import numpy as np
import pytest

import gantune
from artifact_samples import write_onnx_artifact
from gantune.errors import UnsupportedError, UsageError
from gantune.measuring import ComparisonOptions
from gantune.networks.catalogue import build_network
from gantune.optimizing.entry_points import bench, export, generate, profile
from gantune.profiling.network_profile import NetworkProfileOptions
from network_samples import SMALL_GENERATORS


def test_the_package_lists_them() -> None:
    assert (gantune.bench, gantune.export, gantune.generate, gantune.profile) == (
        bench, export, generate, profile,
    )  # fmt: skip


def test_an_exported_network_runs_and_gives_the_same_image(tmp_path: Path) -> None:
    network = build_network("dcgan", SMALL_GENERATORS["dcgan"])
    artifact = export(network, tmp_path / "artifact")
    assert (artifact.engine, artifact.precision) == ("onnxruntime", "fp32")
    z = np.random.default_rng(0).standard_normal((2, 6), dtype=np.float32)
    found = gantune.runtime.load(tmp_path / "artifact")(z=z)
    import torch

    with torch.inference_mode():
        expected = network(torch.from_numpy(z)).numpy()
    assert np.abs(found - expected).max() <= 1e-4


def test_a_precision_the_engine_has_no_plan_for_is_unsupported(tmp_path: Path) -> None:
    network = build_network("dcgan", SMALL_GENERATORS["dcgan"])
    with pytest.raises(UnsupportedError, match="it has: fp32"):
        export(network, tmp_path / "artifact", precision="bf16")


def test_a_network_in_memory_is_drawn_once_a_seed(tmp_path: Path) -> None:
    network = build_network("dcgan", SMALL_GENERATORS["dcgan"])
    written = generate(network, tmp_path / "pictures", seeds="0,5")
    assert len(written) == 2
    assert all(path.is_file() for path in written)


def test_bench_compares_with_the_first(tmp_path: Path) -> None:
    write_onnx_artifact(tmp_path / "a")
    write_onnx_artifact(tmp_path / "b")
    options = ComparisonOptions(num_rounds=2, min_visit_ms=1, baselines=("a",))
    compared = bench([tmp_path / "a", tmp_path / "b"], options=options, threads=1)
    assert set(compared.speedups["b"]) == {"a"}
    with pytest.raises(UsageError, match="nothing to time"):
        bench([])


@pytest.mark.slow
def test_a_profile_of_a_network_in_memory_has_layers() -> None:
    network = build_network("dcgan", SMALL_GENERATORS["dcgan"])
    found = profile(network, options=NetworkProfileOptions(num_rounds=1, is_tried=False))
    assert found.layers
