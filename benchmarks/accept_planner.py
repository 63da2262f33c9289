"""`make accept-planner`: the planner's pick against an exhaustive search, on three real networks.

Both start without a cache. The exhaustive search builds every candidate the decision tree knows with every
change the loop could make, compares its images and times it in 15 rounds. Each part of the work is kept in
`.cache/bench/planner` when it is done, with the seconds it took, so that the run can be interrupted, and
continued with `--only`. The last part times both picks side by side.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from publish import publish
from pydantic import BaseModel

from gantune.checkpoints import load
from gantune.measuring import (
    ArtifactSource,
    CheckpointSource,
    ComparisonOptions,
    Subject,
    compare_subjects,
    time_call,
    tuned_baseline,
)
from gantune.networks.contract import Network
from gantune.optimizing import OptimizeOptions, make_plan, run_plan
from gantune.optimizing.assemble import read_budget
from gantune.optimizing.build import BuildResult, build_candidate
from gantune.optimizing.integers import IntegerRun
from gantune.optimizing.knobs import is_same_way, list_variants
from gantune.optimizing.samples import draw_test_inputs
from gantune.optimizing.shared_builds import SharedBuilds
from gantune.optimizing.trial import artifact_subject, judge_images, run_original
from gantune.optimizing.workbench import draw_calibration
from gantune.quality.gate import Budget, find_image_violations
from gantune.records.figures import Figure
from gantune.records.plan import Plan, PlannedCandidate
from gantune.runtime import read_artifact

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".cache" / "bench" / "planner"
THREADS = 2
ROUNDS = 15
GROUP = 8
MIN_CANDIDATES = 24
MOST_TIME = 1 / 3
LEAST_SPEED = 0.9
# Compiled and integer candidates take a minute each to build or to load, so they stand for themselves alone.
WITHOUT_VARIANTS = ("torch_compile",)


@dataclass(frozen=True)
class Entry:
    """One network, and which knobs the exhaustive search leaves out to stay near 30 candidates."""

    name: str
    path: Path
    without: tuple[str, ...] = ()


class Part(BaseModel):
    """One finished part: the seconds it took, and what it found (candidate → milliseconds, or a pick)."""

    seconds: float
    latencies_ms: dict[str, float] = {}
    pick: str = ""
    artifact: str = ""
    ratio: tuple[float, float, float] | None = None


def list_entries() -> list[Entry]:
    """List the networks: super-resolution, faces, and a trained StyleGAN2."""
    samples = ROOT / "samples" / "fashion-mnist-32.safetensors"
    given = Path(os.environ.get("GANTUNE_SAMPLE", str(samples)))
    return [
        Entry("srvgg", ROOT / ".cache" / "real" / "srvgg-x4-animevideo.param"),
        Entry("dcgan-faces", ROOT / ".cache" / "real" / "dcgan-faces-64.tar"),
        Entry("stylegan2-fashion", given, ("default-allocator",)),
    ]


def main() -> int:
    """Carry out the parts that are not there yet, or the one named, then publish what is whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="carry out one part alone, as NETWORK:PART")
    parser.add_argument("--list", action="store_true", help="list the parts and whether they are done")
    parser.add_argument("--fresh", action="store_true", help="forget all parts first")
    arguments = parser.parse_args()
    if arguments.fresh and WORK.exists():
        shutil.rmtree(WORK)
    WORK.mkdir(parents=True, exist_ok=True)
    os.environ["GANTUNE_CACHE"] = str(WORK / "cache")
    for entry in list_entries():
        for name, carry_out in list_parts(entry):
            file = WORK / f"{entry.name}-{name}.json"
            label = f"{entry.name}:{name}"
            if arguments.list:
                print(f"{label:<40} {'done' if file.exists() else 'open'}")
            elif not file.exists() and arguments.only in (None, label):
                print(f"{label} …", flush=True)
                found: list[Part] = []
                seconds = time_call(lambda carry_out=carry_out, found=found: found.append(carry_out())) / 1e3
                file.write_text(found[0].model_copy(update={"seconds": seconds}).model_dump_json(indent=1))
    return 0 if arguments.list or arguments.only else report()


def list_parts(entry: Entry) -> Iterator[tuple[str, Callable[[], Part]]]:
    """Name the parts of one network, in order."""
    yield "planner", lambda: run_planner(entry)
    candidates = list_candidates(entry)
    for index in range(0, len(candidates), GROUP):
        group = candidates[index : index + GROUP]
        yield f"exhaustive-{index // GROUP}", lambda group=group: try_group(entry, group)
    yield "side-by-side", lambda: compare_picks(entry)


def options() -> OptimizeOptions:
    """Give the options of both searches."""
    return OptimizeOptions(threads=THREADS, rounds=ROUNDS)


def list_candidates(entry: Entry) -> list[PlannedCandidate]:
    """List what the exhaustive search tries: every candidate of the tree with every combination of knobs."""
    plan = make_plan(entry.path, options())
    found: list[PlannedCandidate] = []
    for planned in plan.candidates:
        # What the planner leaves out for another engine's sake: whether that is right is for this to show.
        if planned.is_skipped and "OpenVINO, which is installed" not in planned.why:
            continue
        is_alone = planned.engine in WITHOUT_VARIANTS or planned.precision == "int8"
        variants = (planned,) if is_alone else list_variants(planned, threads=THREADS)
        for variant in variants:
            is_left_out = any(word in variant.name.split("+")[1:] for word in entry.without)
            if not is_left_out and not any(is_same_way(variant, other) for other in found):
                found.append(variant)
    assert len(found) >= MIN_CANDIDATES, f"{entry.name} has {len(found)} candidates"
    return found


def run_planner(entry: Entry) -> Part:
    """Let gantune search as a user would, and keep its pick."""
    shutil.rmtree(WORK / "cache", ignore_errors=True)
    out = WORK / f"{entry.name}-run"
    # An unfinished run of the same plan would be resumed, and its time would be nothing.
    shutil.rmtree(out, ignore_errors=True)
    result = run_plan(entry.path, make_plan(entry.path, options()), out, overwrite=True)
    assert result.best is not None, result.report.verdict
    return Part(seconds=0, pick=result.best.name, artifact=str(out / "artifact"))


def try_group(entry: Entry, group: list[PlannedCandidate]) -> Part:
    """Build, compare and time some candidates in full; those outside the budget are not timed."""
    plan = make_plan(entry.path, options())
    network = load(entry.path)
    assert isinstance(network, Network)
    arrays = draw_test_inputs(network.inputs, seed=0, samples=None, image_size=plan.image_size)
    original = CheckpointSource(path=entry.path.resolve())
    expected = run_original(original, arrays, threads=THREADS)
    ready: list[Subject] = []
    shared = _find_built(entry)
    for planned in group:
        folder = artifact_folder(entry, planned.name)
        # A careful person would not export the same graph again either.
        built = shared.reuse(planned, folder, threads=THREADS) or _build(entry, plan, planned, folder)
        shared.remember(built, planned, folder)
        if built.status == "failed":
            continue
        subject = artifact_subject(planned, folder, threads=THREADS)
        images = folder.with_suffix(".npy")
        quality = judge_images(subject, arrays, expected, network.output, images).quality
        if quality and not find_image_violations(Budget(), quality, image_error="range"):
            ready.append(subject)
    if not ready:
        return Part(seconds=0)
    comparison = compare_subjects(
        [tuned_baseline(original, threads=THREADS), *ready],
        ComparisonOptions(image_size=plan.image_size, num_rounds=ROUNDS, baselines=("tuned",)),
    )
    # The latency that the paired speedup stands for: free of the drift between one group and the next.
    tuned = comparison.result("tuned").measured
    assert tuned is not None
    return Part(
        seconds=0,
        latencies_ms={
            name: 1 / speedups["tuned"].median
            for name, speedups in comparison.speedups.items()
            if name != "tuned"
        },
    )


def _build(entry: Entry, plan: Plan, planned: PlannedCandidate, folder: Path) -> BuildResult:
    network = load(entry.path)
    assert isinstance(network, Network)
    return build_candidate(
        network,
        planned,
        folder,
        threads=THREADS,
        integers=IntegerRun(
            draw_calibration=lambda: draw_calibration(network.inputs, plan),
            min_db=read_budget(plan).min_psnr_db,
            image_error=plan.image_error,
        ),
    )


def _find_built(entry: Entry) -> SharedBuilds:
    """Find what earlier parts have built, whose files a later candidate may share."""
    shared = SharedBuilds()
    for planned in list_candidates(entry):
        folder = artifact_folder(entry, planned.name)
        if folder.is_dir():
            shared.remember(BuildResult(name=planned.name, status="built"), planned, folder)
    return shared


def artifact_folder(entry: Entry, name: str) -> Path:
    """Name the folder of one candidate of the exhaustive search."""
    return WORK / f"{entry.name}-built" / name


def compare_picks(entry: Entry) -> Part:
    """Time the planner's pick and the exhaustive best side by side."""
    chosen = _read(entry, "planner")
    best, _ = find_best(entry)
    picks = {"planner": Path(chosen.artifact), "exhaustive": artifact_folder(entry, best)}
    subjects = [
        Subject(
            name=name,
            source=ArtifactSource(directory=folder, tune_allocator=_is_tuned(folder)),
            threads=_count_threads(folder),
        )
        for name, folder in picks.items()
    ]
    comparison = compare_subjects(
        subjects, ComparisonOptions(num_rounds=2 * ROUNDS, baselines=("exhaustive",))
    )
    ratio = comparison.speedups["planner"]["exhaustive"]
    return Part(seconds=0, pick=best, ratio=(ratio.median, ratio.low, ratio.high))


def _is_tuned(folder: Path) -> bool:
    return read_artifact(folder).environment.allocator == "tuned"


def _count_threads(folder: Path) -> int | None:
    return read_artifact(folder).environment.threads


def find_best(entry: Entry) -> tuple[str, float]:
    """Give the exhaustive search's best candidate, and the seconds that the search took."""
    parts = [_read(entry, name) for name, _ in list_parts(entry) if name.startswith("exhaustive")]
    found = {name: value for part in parts for name, value in part.latencies_ms.items()}
    return min(found, key=lambda name: found[name]), sum(part.seconds for part in parts)


def _read(entry: Entry, name: str) -> Part:
    return Part.model_validate_json(_file(entry, name).read_text())


def _file(entry: Entry, name: str) -> Path:
    return WORK / f"{entry.name}-{name}.json"


def report() -> int:
    """Publish one row for the pick and one for the time of every network."""
    rows = []
    for entry in list_entries():
        unfinished = [name for name, _ in list_parts(entry) if not _file(entry, name).exists()]
        if unfinished:
            how = f"not measured yet: {', '.join(unfinished)} (make accept-planner goes on from here)"
            rows.append(Figure(name=entry.name, value=None, unit="×", met=False, how=how))
            continue
        chosen, final = _read(entry, "planner"), _read(entry, "side-by-side")
        best, seconds = find_best(entry)
        assert final.ratio is not None
        median, low, high = final.ratio
        count = len(list_candidates(entry))
        rows.append(
            Figure(
                name=f"{entry.name}: the planner's pick, of the exhaustive best's speed",
                value=median, low=low, high=high, unit="×", bar=f"≥ {LEAST_SPEED:g}",
                met=bool(median >= LEAST_SPEED),
                how=f"{chosen.pick} beside {best}, the best of {count}, in {2 * ROUNDS} interleaved rounds",
            )
        )  # fmt: skip
        rows.append(
            Figure(
                name=f"{entry.name}: time of the planner, of the exhaustive search's",
                value=chosen.seconds / seconds, unit="×", bar=f"≤ {MOST_TIME:.3g}",
                met=bool(chosen.seconds / seconds <= MOST_TIME),
                how=f"{chosen.seconds:.0f} s, report and all, against {seconds:.0f} s for {count} candidates",
            )
        )  # fmt: skip
    return publish("planner", rows)


if __name__ == "__main__":
    sys.exit(main())
