import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from artifact_samples import INPUTS, expected_image, write_onnx_artifact
from gantune import runtime
from gantune.errors import CheckpointError, UnavailableError, UsageError
from gantune.machine import is_glibc
from gantune.runtime import write_artifact

ENGINES = ["onnxruntime", "openvino"]
Z = np.random.default_rng(1).standard_normal((8, 4)).astype(np.float32)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("batch", [1, 3, 8])
def test_an_artifact_gives_its_networks_image_at_any_batch(tmp_path: Path, engine: str, batch: int) -> None:
    write_onnx_artifact(tmp_path, engine=engine)
    loaded = runtime.load(tmp_path, threads=1)
    image = loaded(z=Z[:batch])
    assert image.dtype == np.float32
    np.testing.assert_allclose(image, expected_image(Z[:batch]), atol=1e-5)
    assert loaded.inputs == INPUTS
    assert loaded.output.channels == 2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("psi", [0.5, np.float32(0.5), np.array(0.5), 0])
def test_a_scalar_may_be_a_number_or_an_array(tmp_path: Path, engine: str, psi: float) -> None:
    write_onnx_artifact(tmp_path, engine=engine)
    image = runtime.load(tmp_path, threads=1)(z=Z[:2], truncation_psi=psi)
    np.testing.assert_allclose(image, expected_image(Z[:2], float(psi)), atol=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_image_stays_when_the_next_is_made(tmp_path: Path, engine: str) -> None:
    write_onnx_artifact(tmp_path, engine=engine)
    loaded = runtime.load(tmp_path, threads=1)
    first = loaded(z=Z[:1])
    before = first.copy()
    loaded(z=Z[1:2])
    np.testing.assert_array_equal(first, before)


@pytest.mark.parametrize(
    ("engine", "precision", "used"),
    [("onnxruntime", "fp32", "fp32"), ("openvino", "fp32", "fp32"), ("openvino", "bf16", "bf16")],
)
def test_the_precision_used_is_read_back(tmp_path: Path, engine: str, precision: str, used: str) -> None:
    if precision == "bf16" and not _has_bf16():
        pytest.skip("this processor has no bf16 instructions")
    write_onnx_artifact(tmp_path, engine=engine, precision=precision)
    assert runtime.load(tmp_path, threads=1).precision_used == used


def _has_bf16() -> bool:
    from gantune.machine import describe_machine

    return bool({"avx512_bf16", "amx_bf16"} & set(describe_machine().instruction_sets))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_process_without_torch_runs_an_artifact(tmp_path: Path, engine: str) -> None:
    write_onnx_artifact(tmp_path, engine=engine)
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import numpy as np; from gantune import runtime\n"
        f"loaded = runtime.load({str(tmp_path)!r}, threads=1)\n"
        "print(loaded(z=np.zeros((2, 4), np.float32)).shape, loaded.precision_used)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(2, 2, 8, 8) fp32"


def test_an_absent_engine_is_named_with_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_onnx_artifact(tmp_path, engine="openvino")
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(UnavailableError, match=r"pip install 'gantune\[openvino\]'"):
        runtime.load(tmp_path)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_the_engine_cannot_read_is_refused(tmp_path: Path, engine: str) -> None:
    artifact = write_onnx_artifact(tmp_path, engine=engine)
    (tmp_path / "network.onnx").write_bytes(b"not an onnx file")
    files = runtime.describe_files(tmp_path, ["network.onnx"])
    runtime.write_artifact(artifact.model_copy(update={"files": files}), tmp_path)
    with pytest.raises(CheckpointError, match="refuses"):
        runtime.load(tmp_path)


@pytest.mark.parametrize("engine", ENGINES)
def test_inputs_that_the_network_does_not_take_are_refused(tmp_path: Path, engine: str) -> None:
    artifact = write_onnx_artifact(tmp_path, engine=engine)
    write_artifact(artifact.model_copy(update={"inputs": artifact.inputs[:1]}), tmp_path)
    with pytest.raises(CheckpointError, match=r"names the inputs z, and .* takes truncation_psi, z"):
        runtime.load(tmp_path)


def test_threads_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="threads is 0"):
        runtime.load(tmp_path, threads=0)


def test_an_unknown_graph_level_is_refused(tmp_path: Path) -> None:
    write_onnx_artifact(tmp_path, options={"graph_optimization_level": "extreme"})
    with pytest.raises(CheckpointError, match="disabled, basic, extended, all"):
        runtime.load(tmp_path)


@pytest.mark.skipif(not is_glibc(), reason="needs glibc")
def test_a_tuned_allocator_ends_page_faults_in_a_running_process() -> None:
    code = (
        "import resource, sys; from gantune import runtime\n"
        "if sys.argv[1] == 'tuned': assert runtime.tune_allocator().is_applied\n"
        "count = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "x = b'x' * 2**26; del x\n"
        "start = count()\n"
        "for i in range(3): x = b'x' * 2**26; del x\n"
        "print(count() - start)"
    )
    faults = {}
    for name in ("default", "tuned"):
        done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, timeout=60)
        faults[name] = int(done.stdout)
    # Three times 64 MiB in pages of 4 KiB are 49,152; huge pages make it fewer.
    assert faults["default"] > 90
    assert faults["tuned"] < 10


def test_where_the_allocator_cannot_be_tuned_a_warning_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gantune.runtime.allocator.find_allocator", lambda: "jemalloc")
    write_onnx_artifact(tmp_path)
    with caplog.at_level(logging.WARNING, "gantune.runtime"):
        loaded = runtime.load(tmp_path, threads=1, tune_allocator=True)
    assert not loaded.allocator.is_applied
    assert "jemalloc" in caplog.text
