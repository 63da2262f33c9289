import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from artifact_samples import expected_image, write_onnx_artifact
from gantune.measuring.comparison import ComparisonOptions, compare_subjects
from gantune.measuring.process import WorkerError, WorkerProcess, run_subject
from gantune.measuring.subject import ArtifactSource, FamilySource, Subject
from network_samples import SMALL_GENERATORS

Z = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    write_onnx_artifact(tmp_path / "artifact")
    return Subject(name="sample", source=ArtifactSource(directory=tmp_path / "artifact"), threads=1)


def state_of(process_id: int) -> str:
    """Give the state letter of a process: T is stopped; "gone" where there is none."""
    path = Path(f"/proc/{process_id}/stat")
    return path.read_text().rsplit(")", 1)[1].split()[0] if path.exists() else "gone"


def wait_for_state(process_id: int, states: set[str]) -> str:
    end = time.monotonic() + 5
    while (state := state_of(process_id)) not in states and time.monotonic() < end:
        time.sleep(0.01)
    return state


def test_a_worker_gives_the_subjects_output(subject: Subject) -> None:
    output = run_subject(subject, {"z": Z, "truncation_psi": np.float32(0.5)})
    np.testing.assert_allclose(output, expected_image(Z, 0.5), atol=1e-5)


def test_a_worker_reports_times_faults_and_memory(subject: Subject) -> None:
    with WorkerProcess(subject) as worker:
        assert worker.load() > 1
        worker.prepare(batch_size=2, seed=0, image_size=64)
        durations_ms, faults = worker.run(4)
        facts = worker.facts()
        assert worker.output().shape == (2, 2, 8, 8)
    assert len(durations_ms) == len(faults) == 4
    assert all(duration > 0 for duration in durations_ms)
    assert 2**24 < int(str(facts["peak_bytes"])) < 2**30
    assert facts["precision_used"] == "fp32"
    assert facts["live_bytes"] is None
    assert facts["fallbacks"] == []


def test_an_artifact_is_measured_without_torch(subject: Subject, tmp_path: Path) -> None:
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "torch.py").write_text("raise ImportError('torch is blocked')")
    blocked = subject.model_copy(update={"environment": {"PYTHONPATH": str(tmp_path / "blocked")}})
    assert run_subject(blocked, {"z": Z}).shape == (3, 2, 8, 8)


def test_the_environment_of_a_worker_is_its_subjects(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1")
    tuned = subject.model_copy(update={"environment": {"MALLOC_MMAP_THRESHOLD_": "8000000000"}})
    for case, expected in ((subject, "glibc"), (tuned, "glibc (tuned by MALLOC_MMAP_THRESHOLD_)")):
        with WorkerProcess(case) as worker:
            worker.load()
            assert worker.facts()["allocator"] == expected


def test_the_allocator_tuned_in_process_is_told(subject: Subject, tmp_path: Path) -> None:
    source = ArtifactSource(directory=tmp_path / "artifact", tune_allocator=True)
    with WorkerProcess(subject.model_copy(update={"source": source})) as worker:
        worker.load()
        assert "mallopt" in str(worker.facts()["allocator"])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_idle_worker_is_stopped_and_ends_with_the_block(subject: Subject) -> None:
    with WorkerProcess(subject) as worker:
        worker.load()
        assert wait_for_state(worker.process_id, {"T"}) == "T"
        worker.prepare(batch_size=1, seed=0, image_size=64)
        assert wait_for_state(worker.process_id, {"T"}) == "T"
    assert state_of(worker.process_id) == "gone"


@pytest.mark.skipif(sys.platform != "linux", reason="uses PR_SET_PDEATHSIG")
def test_a_stopped_worker_ends_when_its_parent_is_killed(subject: Subject) -> None:
    code = (
        "import sys; from gantune.measuring.process import WorkerProcess\n"
        "from gantune.measuring.subject import Subject\n"
        "worker = WorkerProcess(Subject.model_validate_json(sys.argv[1])); worker.load()\n"
        "print(worker.process_id, flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, subject.model_dump_json()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    worker_id = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    assert wait_for_state(worker_id, {"gone", "Z"}) in {"gone", "Z"}


def test_a_killed_worker_is_told_with_its_signal(subject: Subject) -> None:
    with WorkerProcess(subject) as worker:
        worker.load()
        os.kill(worker.process_id, signal.SIGKILL)
        with pytest.raises(WorkerError, match=r"the process of sample died \(signal SIGKILL\)"):
            worker.facts()


def test_a_crashed_worker_is_told_with_its_last_words(subject: Subject) -> None:
    with WorkerProcess(subject) as worker, pytest.raises(WorkerError) as caught:
        worker._ask({"command": "nonsense"})
    assert str(caught.value) == "the process of sample died (exit status 1): KeyError: 'nonsense'"


def test_a_subjects_own_refusal_is_told_and_the_worker_lives(subject: Subject) -> None:
    with WorkerProcess(subject) as worker:
        worker.load()
        worker.prepare_arrays({"z": Z.astype(np.float64)})
        with pytest.raises(WorkerError, match="'z' is float64; it must be float32"):
            worker.run(1)
        worker.prepare_arrays({"z": Z})
        assert len(worker.run(1)[0]) == 1


def test_commands_out_of_order_are_refused(subject: Subject) -> None:
    with WorkerProcess(subject) as worker:
        with pytest.raises(WorkerError, match="send the command load first"):
            worker.prepare(batch_size=1, seed=0, image_size=64)
        worker.load()
        with pytest.raises(WorkerError, match="send the command prepare first"):
            worker.run(1)


def test_a_worker_that_does_not_answer_is_ended(subject: Subject) -> None:
    with WorkerProcess(subject, timeout_s=0.05) as worker:
        with pytest.raises(WorkerError, match=r"sample did not answer within 0\.05 s"):
            worker.load()
        assert wait_for_state(worker.process_id, {"Z", "gone"}) in {"Z", "gone"}


@pytest.mark.slow
def test_a_network_with_random_weights_is_the_one_its_seed_draws() -> None:
    import torch

    from gantune.networks.catalogue import build_network

    config: dict[str, int] = {"num_feat": 8, "num_conv": 2, "upscale": 2}
    subject = Subject(name="n", source=FamilySource(family="srvgg", config=dict(config), seed=5), threads=1)
    picture = np.random.default_rng(0).uniform(0, 1, (1, 3, 8, 8)).astype(np.float32)
    torch.manual_seed(5)
    network = build_network("srvgg", dict(config))
    with torch.no_grad():
        expected = network(torch.from_numpy(picture)).numpy()
    with WorkerProcess(subject) as worker:
        worker.load()
        worker.prepare_arrays({network.inputs[0].name: picture})  # type: ignore[index, union-attr]
        np.testing.assert_allclose(worker.output(), expected, atol=1e-5)
        num_parameters = sum(parameter.numel() for parameter in network.parameters())
        assert int(str(worker.facts()["live_bytes"])) >= 4 * num_parameters


# What a worker's Python runs first: the kernels do not load in it.
WITHOUT_KERNELS = """
import ctypes
load = ctypes.CDLL
def refuse_kernels(name, *rest, **keywords):
    if "libgantune_kernels" in str(name):
        raise OSError("planted")
    return load(name, *rest, **keywords)
ctypes.CDLL = refuse_kernels
"""


@pytest.mark.slow
def test_a_slower_form_that_ran_in_a_worker_is_told_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_KERNELS)
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    source = FamilySource(
        family="stylegan2", config=dict(SMALL_GENERATORS["stylegan2"]), implementation="auto"
    )
    subject = Subject(name="slower", source=source, threads=1, environment={"PYTHONPATH": paths})
    options = ComparisonOptions(num_rounds=1, num_warmup=1, min_visit_ms=1e-9, baselines=())
    fallbacks = compare_subjects([subject], options).result("slower").fallbacks
    assert {found.operation for found in fallbacks} >= {"upfirdn2d", "modulated_conv2d"}
    assert {(found.wanted, found.used) for found in fallbacks} == {("native", "portable")}
    assert {found.reason for found in fallbacks} == {"the C++ kernels do not load: planted"}
