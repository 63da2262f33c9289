from pathlib import Path

import pytest

from gantune.errors import StorageError, UsageError
from gantune.optimizing.run_folder import RunFolder, read_plan, write_plan
from gantune.records.plan import Plan, PlannedCandidate, Step


def make_plan(seed: int = 0) -> Plan:
    step = Step(kind="transform", name="resampling", options={"form": "transposed"})
    return Plan(
        source="network.pkl", source_sha256="0" * 64, family="stylegan2", target="cpu", goal="latency",
        seed=seed, batch=1, threads=2, image_size=64, rounds=15, precision="any",
        budget={"min_psnr_db": 40.0},
        candidates=(PlannedCandidate(name="a", engine="e", precision="fp32", steps=(step,), why="because"),),
    )  # fmt: skip


def test_a_plan_written_as_yaml_is_read_back_equal(tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.yaml", make_plan())
    assert read_plan(tmp_path / "plan.yaml") == make_plan()


@pytest.mark.parametrize("content", [b"a: [", b"seed: 1", b"\xff\xfe", b""])
def test_what_is_no_plan_is_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "plan.yaml").write_bytes(content)
    with pytest.raises(UsageError, match="is no plan"):
        read_plan(tmp_path / "plan.yaml")


def test_the_same_plan_resumes_with_its_state(tmp_path: Path) -> None:
    first = RunFolder(tmp_path / "run", make_plan(), overwrite=False)
    first.write_state("note", make_plan(7))
    second = RunFolder(tmp_path / "run", make_plan(), overwrite=False)
    assert not first.is_resumed
    assert second.is_resumed
    assert second.read_state("note", Plan) == make_plan(7)


def test_another_plan_does_not_take_over_an_unfinished_run(tmp_path: Path) -> None:
    RunFolder(tmp_path / "run", make_plan(), overwrite=False)
    with pytest.raises(StorageError, match="unfinished run"):
        RunFolder(tmp_path / "run", make_plan(1), overwrite=False)
    assert not RunFolder(tmp_path / "run", make_plan(1), overwrite=True).is_resumed


def test_foreign_files_are_never_removed(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years of work")
    for overwrite in (False, True):
        with pytest.raises(StorageError):
            RunFolder(tmp_path, make_plan(), overwrite=overwrite)
    assert (tmp_path / "thesis.txt").read_text() == "three years of work"


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(StorageError, match="is a file"):
        RunFolder(tmp_path / "run", make_plan(), overwrite=True)


def test_finish_leaves_only_results(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", make_plan(), overwrite=False)
    built = folder.scratch("built")
    built.mkdir()
    (built / "artifact.json").write_text("{}")
    folder.adopt(built, "artifact")
    folder.finish()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["artifact"]
