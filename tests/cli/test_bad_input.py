"""Bad input gets the right exit code and one sentence, and leaves nothing half-written."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from artifact_samples import describe

GOLDEN = Path(__file__).parent.parent / "golden"
NETWORK = GOLDEN / "stylegan2-uncond-32.pkl"
Run = Callable[..., Any]


class Shell:
    """Run a command when it is unpickled."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (self.command,)


def write_nan_weights(path: Path) -> None:
    from gantune.checkpoints.loading import read_content
    from gantune.checkpoints.safetensors_file import write_safetensors

    content = read_content(NETWORK)
    next(iter(content.networks["generator"].state.values())).fill_(float("nan"))
    write_safetensors(content, path)


def make_bad_file(kind: str, folder: Path) -> Path:
    path = folder / f"{kind}.pkl"
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "directory":
        path.mkdir()
    elif kind == "text":
        path.write_text("these are no weights\n")
    elif kind == "wrong-extension":
        path = folder / "picture.png"
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    elif kind == "renamed":
        path = folder / "renamed.safetensors"
        path.write_bytes(pickle.dumps(Shell(f"touch {folder / 'canary'}")))
    elif kind == "hostile":
        path.write_bytes(pickle.dumps({"G_ema": Shell(f"touch {folder / 'canary'}")}))
    elif kind == "truncated":
        path.write_bytes(NETWORK.read_bytes()[:100_000])
    elif kind == "nan":
        path = folder / "nan.safetensors"
        write_nan_weights(path)
    return path


@pytest.mark.parametrize(
    "kind",
    [
        "missing", "empty", "directory", "text", "wrong-extension", "renamed", "hostile", "truncated", "nan",
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["inspect", "optimize", "convert", "generate"])
def test_a_bad_checkpoint_is_refused_by_every_command(
    gantune: Run, tmp_path: Path, kind: str, command: str
) -> None:
    path = make_bad_file(kind, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    out = [] if command == "inspect" else ["--out", tmp_path / "out"]
    outcome = gantune(command, path, *out)
    assert outcome.code == 3, outcome.err
    assert outcome.out == ""
    assert len(outcome.err.strip().splitlines()) == 1
    assert "Traceback" not in outcome.err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (["--batch", "-1"], 2, "--batch"),
        (["--batch", "0"], 2, "--batch"),
        (["--target", "abacus"], 2, "abacus"),
        (["--precision", "int3"], 2, "--precision"),
        (["--goal", "beauty"], 2, "--goal"),
        (["--min-psnr", "-4"], 2, "min_psnr_db"),
        (["--budget-minutes", "0"], 2, "budget_minutes"),
        (["--rounds", "1"], 2, "--rounds"),
        (["--plan", "nowhere.yaml"], 2, "nowhere.yaml"),
        (["--samples", "nowhere"], 2, "--samples"),
        (["--image-size", "2"], 2, "--image-size"),
        (["--nonsense"], 2, "--nonsense"),
        (["--min-psnr", "inf"], 2, "min_psnr_db"),
        (["--budget-minutes", "inf"], 2, "budget_minutes"),
        (["--data", "nowhere"], 3, "nowhere"),
    ],
)
def test_a_wrong_option_is_named(
    gantune: Run, tmp_path: Path, options: list[str], code: int, word: str
) -> None:
    outcome = gantune("optimize", NETWORK, "--out", tmp_path / "run", *options)
    assert outcome.code == code
    assert word in outcome.err
    assert "Traceback" not in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("generate", "thesis.txt"), ("generate", "thesis.txt/sub"), ("generate", "x" * 300),
        ("convert", "thesis.txt"), ("convert", "thesis.txt/sub"), ("convert", "x" * 300),
        ("convert", "nowhere/out"), ("convert", "."), ("convert", "pipe"), ("convert", "checkpoint.pkl"),
        ("convert", os.fsdecode(b"\xff")), ("optimize", "thesis.txt"), ("optimize", "x" * 300),
    ],
)  # fmt: skip
def test_an_impossible_place_is_refused_and_left_alone(
    gantune: Run, tmp_path: Path, command: str, place: str
) -> None:
    (tmp_path / "thesis.txt").write_text("three years of work")
    shutil.copy(NETWORK, tmp_path / "checkpoint.pkl")
    os.mkfifo(tmp_path / "pipe")
    before = {path: path.stat() for path in tmp_path.rglob("*")}
    overwrite = ["--overwrite"] if place != "thesis.txt" else []
    outcome = gantune(command, tmp_path / "checkpoint.pkl", "--out", tmp_path / place, *overwrite)
    assert outcome.code == 9, outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
    after = {path: path.stat() for path in tmp_path.rglob("*")}
    assert {path: (stat.st_ino, stat.st_mtime) for path, stat in after.items()} == {
        path: (stat.st_ino, stat.st_mtime) for path, stat in before.items()
    }


@pytest.mark.parametrize(
    "command",
    [
        "inspect", "optimize", "convert", "generate", "profile", "bench", "evaluate", "doctor", "quantize",
        "report",
    ],
)  # fmt: skip
def test_a_name_that_is_too_long_is_no_file(gantune: Run, tmp_path: Path, command: str) -> None:
    has_out = command in ("optimize", "convert", "generate", "quantize")
    out = ["--out", tmp_path / "out"] if has_out else []
    outcome = gantune(command, "x" * 300, *out)
    assert outcome.code == 3, outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--trunc", "nan"], "--trunc"), (["--trunc", "inf"], "--trunc"), (["--trunc", "1e308"], "--trunc"),
        (["--seeds", "5-3"], "5-3"), (["--seeds", "9" * 5000], "0-3,7"), (["--class", "0"], "--class"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said_before_the_folder_is_made(
    gantune: Run, tmp_path: Path, options: list[str], word: str
) -> None:
    outcome = gantune("generate", NETWORK, "--out", tmp_path / "out", *options)
    assert outcome.code == 2, outcome.err
    assert word in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_weights_that_do_not_fit_are_refused_with_the_name_of_their_file(
    gantune: Run, tmp_path: Path
) -> None:
    write_nan_weights(tmp_path / "nan.safetensors")
    assert "nan.safetensors" in gantune("inspect", tmp_path / "nan.safetensors").err


def test_a_reader_that_goes_away_is_no_failure() -> None:
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(
        [sys.executable, "-m", "gantune", "inspect", NETWORK, "--json"],
        stdout=write, stderr=subprocess.PIPE, check=False, timeout=300,
    )  # fmt: skip
    os.close(write)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_terminal_that_lacks_a_character_is_no_failure(tmp_path: Path) -> None:
    shutil.copy(NETWORK, tmp_path / "größe.pkl")
    ended = subprocess.run(
        [sys.executable, "-m", "gantune", "inspect", tmp_path / "größe.pkl"],
        env=os.environ | {"PYTHONIOENCODING": "ascii:strict"}, capture_output=True, check=False, timeout=300,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"gr\\xf6\\xdfe.pkl" in ended.stdout


def test_ctrl_c_ends_any_command_with_a_word(gantune: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gantune.optimizing.inspection.inspect", interrupt)
    outcome = gantune("inspect", NETWORK)
    assert (outcome.code, outcome.err) == (130, "gantune: Interrupted.\n")


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("threads", 0), ("batch", -1), ("rounds", 1), ("image_size", -8), ("seed", -1),
        ("budget_minutes", -1.0), ("budget", {"min_psnr_db": -3.0}), ("budget", {"beauty": 1.0}),
        ("data", "nowhere"), ("unknown", 1), ("source_sha256", "0" * 64), ("candidates.0.name", "../../evil"),
        ("candidates.0.name", ""),
    ],
)  # fmt: skip
def test_a_plan_edited_by_hand_is_checked_before_anything_is_made(
    gantune: Run, tmp_path: Path, entry: str, value: object
) -> None:
    outcome = gantune("optimize", NETWORK, "--out", tmp_path / "run", "--dry-run", "--json")
    plan = json.loads(outcome.out)
    if entry.startswith("candidates."):
        plan["candidates"][0]["name"] = value
    else:
        plan[entry] = value
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan))
    outcome = gantune("optimize", NETWORK, "--out", tmp_path / "run", "--plan", tmp_path / "plan.yaml")
    assert outcome.code == (3 if entry == "data" else 2), outcome.err
    assert ("another file" if entry == "source_sha256" else entry.split(".")[0]) in outcome.err or (
        str(value) in outcome.err
    )
    assert len(outcome.err.strip().splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.yaml"]


def test_a_folder_or_a_device_is_no_plan(gantune: Run, tmp_path: Path) -> None:
    for plan in (tmp_path, "/dev/zero"):
        outcome = gantune("optimize", NETWORK, "--out", tmp_path / "run", "--plan", plan)
        assert outcome.code == 2, outcome.err
        assert "There is no plan" in outcome.err


def test_a_folder_with_other_files_is_left_alone(gantune: Run, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years of work")
    outcome = gantune("optimize", NETWORK, "--out", tmp_path, "--overwrite")
    assert outcome.code == 9
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("command", ["convert", "generate"])
def test_a_full_disk_is_said_and_leaves_nothing(gantune: Run, tiny_disk: Path, command: str) -> None:
    out = tiny_disk / ("network.safetensors" if command == "convert" else "pictures")
    seeds = ["--seeds", "0-999"] if command == "generate" else []
    outcome = gantune(command, NETWORK, "--out", out, *seeds)
    assert outcome.code == 9, outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
    assert not [path for path in tiny_disk.rglob("*") if path.suffix in (".tmp", ".partial", ".safetensors")]


@pytest.mark.slow
@pytest.mark.ci
def test_optimize_on_a_full_disk_ends_in_one_sentence(gantune: Run, tiny_disk: Path) -> None:
    outcome = gantune("optimize", NETWORK, "--out", tiny_disk / "run")
    assert outcome.code == 9, outcome.err
    assert "Traceback" not in outcome.err
    assert not (tiny_disk / "run" / "report.json").exists()


@pytest.mark.slow
@pytest.mark.ci
def test_an_interrupted_run_says_how_to_resume_and_does(tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [
        sys.executable, "-m", "gantune", "optimize", str(NETWORK), "--out", str(out), "--rounds", "3",
        "--precision", "fp32",
    ]  # fmt: skip
    # A child inherits that Ctrl-C is ignored, as it is where the tests run in a script's background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not list((out / ".state").glob("build-*.json")) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 130, messages
    assert "Repeat the same command" in messages
    assert "Traceback" not in messages
    assert not (out / "report.json").exists()

    built = sorted((out / ".state").glob("build-*.json"))
    times = {path: path.stat().st_mtime_ns for path in built}
    shutil.copy(built[0], tmp_path / "kept.json")
    resumed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert resumed.returncode == 0, resumed.stderr
    assert (out / "report.json").exists()
    assert times
    assert not (out / ".state").exists()


def test_a_hostile_artifact_is_refused_in_one_sentence_and_nothing_runs(gantune: Run, tmp_path: Path) -> None:
    artifact, canary = tmp_path / "artifact", tmp_path / "canary"
    artifact.mkdir()
    torch.save(((Shell(f"touch {canary}"),), {}), tmp_path / "inputs.pt")
    writer = torch._C.PyTorchFileWriter(str(artifact / "network.pt2"))
    members = {
        "archive_format": b"pt2", "archive_version": b"0", "models/model.json": b"{}",
        "data/sample_inputs/model.pt": (tmp_path / "inputs.pt").read_bytes(),
    }  # fmt: skip
    for name, data in members.items():
        writer.write_record(name, data, len(data))
    writer.write_end_of_file()
    describe(artifact, "network.pt2", engine="torch")
    outcome = gantune("generate", artifact, "--out", tmp_path / "pictures")
    assert outcome.code == 3, outcome.err
    assert outcome.err.strip().splitlines()[-1].endswith("Export the network again.")
    assert "Traceback" not in outcome.err
    assert not canary.exists()
