import os
from pathlib import Path

import numpy as np
import pytest

from gantune.optimizing import build_cache
from gantune.optimizing.build import BuildResult
from gantune.optimizing.build_cache import BuildCache, candidate_key
from gantune.optimizing.trial import QualityResult
from gantune.records.plan import Plan, PlannedCandidate, Step

CANDIDATE = PlannedCandidate(
    name="a", engine="e", precision="fp32", steps=(Step(kind="transform", name="freeze"),), why="because"
)


def make_plan(**changes: object) -> Plan:
    fields: dict[str, object] = {
        "source": "network.pkl", "source_sha256": "0" * 64, "family": "stylegan2", "target": "cpu",
        "goal": "latency", "seed": 0, "batch": 1, "threads": 2, "image_size": 64, "rounds": 15,
        "precision": "any", "budget": {}, "candidates": (CANDIDATE,),
    }  # fmt: skip
    return Plan.model_validate(fields | changes)


def keep(cache: BuildCache, folder: Path, key: str, content: bytes = b"weights") -> None:
    built = folder / f"built-{key}"
    built.mkdir()
    (built / "network.onnx").write_bytes(content)
    np.save(folder / "images.npy", np.ones(3))
    build = BuildResult(name="a", status="built", size_bytes=7)
    cache.keep_candidate(key, build, QualityResult(name="a"), built, folder / "images.npy")


def test_what_was_kept_comes_back_whole(tmp_path: Path) -> None:
    cache = BuildCache(tmp_path / "cache")
    keep(cache, tmp_path, "k")
    found = cache.fetch_candidate("k", tmp_path / "out", tmp_path / "out.npy")
    assert found is not None
    assert found.build.size_bytes == 7
    assert (tmp_path / "out" / "network.onnx").read_bytes() == b"weights"
    assert np.load(tmp_path / "out.npy").sum() == 3


def test_an_unknown_key_gives_nothing_and_touches_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert BuildCache(tmp_path / "cache").fetch_candidate("k", tmp_path / "out", tmp_path / "o") is None
    assert (tmp_path / "out").is_dir()


def test_what_was_used_longest_ago_is_dropped_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_cache, "MAX_CACHE_BYTES", 2500)
    cache = BuildCache(tmp_path / "cache")
    for index, key in enumerate("abc"):
        keep(cache, tmp_path, key, b"0" * 600)

        os.utime(tmp_path / "cache" / key, (index, index))
    keep(cache, tmp_path, "d", b"0" * 600)
    left = {path.name for path in (tmp_path / "cache").iterdir()}
    assert "d" in left
    assert "a" not in left


def test_the_key_follows_the_content_and_not_the_names_of_files_or_the_budget(tmp_path: Path) -> None:
    key = candidate_key(make_plan(), CANDIDATE)
    assert candidate_key(make_plan(source="elsewhere.pkl", budget={"min_psnr_db": 30.0}), CANDIDATE) == key
    changed = CANDIDATE.model_copy(update={"steps": (*CANDIDATE.steps, Step(kind="engine", name="e"))})
    for plan, candidate in (
        (make_plan(source_sha256="1" * 64), CANDIDATE),
        (make_plan(seed=1), CANDIDATE),
        (make_plan(image_size=32), CANDIDATE),
        (make_plan(threads=1), CANDIDATE),
        (make_plan(), changed),
    ):
        assert candidate_key(plan, candidate) != key


def test_other_pictures_under_the_same_name_give_another_key(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"one")
    before = candidate_key(make_plan(samples=str(tmp_path)), CANDIDATE)
    (tmp_path / "a.png").write_bytes(b"two")
    assert candidate_key(make_plan(samples=str(tmp_path)), CANDIDATE) != before
