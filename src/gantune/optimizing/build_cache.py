"""Built candidates and their images, kept by the hash of everything that they follow from.

The key covers the checkpoint, the candidate's steps, the test inputs, gantune's own source and the versions
of the libraries, so that a stale entry is never met. Timings are not kept: they belong to the hour.
"""

import functools
import hashlib
import json
import os
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from gantune.optimizing.build import BuildResult
from gantune.optimizing.trial import QualityResult
from gantune.quality.feature_catalogue import cache_folder
from gantune.records.plan import Plan, PlannedCandidate

_LIBRARIES = ("torch", "onnx", "onnxscript", "onnxruntime", "openvino", "numpy")
MAX_CACHE_BYTES = 4 * 2**30
_ARTIFACT, _IMAGES, _FACTS = "artifact", "images.npy", "facts.json"


class KeptCandidate(BaseModel):
    """What is known of a kept build: how large it is, and how its images compare."""

    model_config = ConfigDict(frozen=True)

    build: BuildResult
    quality: QualityResult


class BuildCache:
    """A folder of finished builds below the cache's folder, or below `folder`."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder if folder is not None else cache_folder() / "builds"

    def fetch_candidate(self, key: str, artifact_dir: Path, images: Path) -> KeptCandidate | None:
        """Copy out the artifact and the images kept under `key`; None where there is nothing."""
        kept = self._folder / key
        if not kept.is_dir():
            return None
        if artifact_dir.exists():
            shutil.rmtree(artifact_dir)
        shutil.copytree(kept / _ARTIFACT, artifact_dir)
        shutil.copyfile(kept / _IMAGES, images)
        os.utime(kept)
        return KeptCandidate.model_validate_json((kept / _FACTS).read_text())

    def keep_candidate(
        self, key: str, build: BuildResult, quality: QualityResult, artifact_dir: Path, images: Path
    ) -> None:
        """Keep a candidate under `key`, then drop what was used longest ago above 4 GiB."""
        self._folder.mkdir(parents=True, exist_ok=True)
        temporary = self._folder / f".{key}.{os.getpid()}"
        try:
            shutil.copytree(artifact_dir, temporary / _ARTIFACT)
            shutil.copyfile(images, temporary / _IMAGES)
            facts = KeptCandidate(build=build, quality=quality)
            (temporary / _FACTS).write_text(facts.model_dump_json())
            if not (self._folder / key).exists():
                temporary.rename(self._folder / key)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self._drop_oldest()

    def _drop_oldest(self) -> None:
        kept = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        total = 0
        for path in kept:
            total += sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
            if total > MAX_CACHE_BYTES:
                shutil.rmtree(path, ignore_errors=True)


def candidate_key(plan: Plan, planned: PlannedCandidate) -> str:
    """Hash everything that a candidate's artifact and its images on the test inputs follow from."""
    parts = {
        "source": plan.source_sha256,
        "name": planned.name,
        "steps": [step.model_dump() for step in planned.steps],
        "engine": planned.engine,
        "precision": planned.precision,
        "threads": plan.threads,
        "seed": plan.seed,
        "image_size": plan.image_size,
        "gate": [plan.image_error, plan.budget.get("min_psnr_db")] if planned.precision == "int8" else None,
        "samples": _hash_samples(plan.samples),
        "libraries": {name: _version(name) for name in _LIBRARIES},
        "gantune": _hash_source(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@functools.cache
def _hash_source() -> str:
    """Hash gantune's own files: code changes between two versions, and the version does not."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted((*package.rglob("*.py"), *package.rglob("*.so"))):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _hash_samples(samples: str | None) -> str | None:
    if samples is None:
        return None
    path = Path(samples)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
