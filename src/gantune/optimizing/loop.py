"""The run: try each candidate, measure, keep or reject, verify the best, leave artifact and report."""

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gantune.backends import BACKENDS
from gantune.checkpoints import Checkpoint, load_checkpoint
from gantune.errors import InterruptedRunError, QualityError, UsageError
from gantune.machine import describe_machine
from gantune.measuring import (
    CheckpointSource,
    ComparisonOptions,
    Subject,
    as_is_baseline,
    compare_subjects,
    tuned_baseline,
)
from gantune.measuring.latency import Deadline
from gantune.networks.contract import Network
from gantune.optimizing.assemble import Evidence, assemble_report, judge_candidates
from gantune.optimizing.build import BuildResult, build_candidate
from gantune.optimizing.decide import pick_best
from gantune.optimizing.facts import hash_file
from gantune.optimizing.illustrate import draw_samples_sheet, make_samples
from gantune.optimizing.options import OptimizeOptions
from gantune.optimizing.planner import Situation, plan_candidates
from gantune.optimizing.run_folder import RunFolder, write_plan, write_text
from gantune.optimizing.samples import draw_test_inputs
from gantune.optimizing.trial import (
    Images,
    QualityResult,
    artifact_subject,
    judge_images,
    run_original,
)
from gantune.optimizing.verify import Verification, verify_best
from gantune.records.candidate import Candidate
from gantune.records.measurement import Comparison
from gantune.records.plan import Plan
from gantune.records.report import Report
from gantune.reporting import write_page
from gantune.runtime.sampling import Array

THROUGHPUT_BATCHES = (2, 4, 8)
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Result:
    """What a run left: its folder, its report, and the artifact folder (None where nothing was kept)."""

    out: Path
    report: Report
    artifact: Path | None

    @property
    def best(self) -> Candidate | None:
        """Give the kept candidate that won, None where the original is to be kept."""
        return self.report.best

    def require_best(self) -> None:
        """Raise `QualityError` where no candidate was kept."""
        if self.report.best is None:
            raise QualityError(f"{self.report.verdict} See {self.out / 'report.html'} for each reason.")


def make_plan(path: Path, options: OptimizeOptions) -> Plan:
    """Load the checkpoint, walk the decision tree, and return everything the run would do."""
    network = load_checkpoint(path).generator
    assert isinstance(network, Network)
    machine = describe_machine()
    # Refuse pictures that do not fit now, not after minutes of building.
    draw_test_inputs(
        network.inputs, seed=options.seed, samples=options.samples, image_size=options.image_size
    )
    situation = Situation(
        family=network.family,
        target=options.target,
        goal=options.goal,
        precision=options.precision,
        instruction_sets=tuple(machine.instruction_sets),
    )
    return Plan(
        source=str(path),
        source_sha256=hash_file(path),
        family=network.family,
        target=options.target,
        goal=options.goal,
        seed=options.seed,
        batch=options.batch_size,
        threads=options.threads or machine.num_cores,
        image_size=options.image_size,
        rounds=options.rounds,
        precision=options.precision,
        budget=options.budget.as_record(),
        image_error=options.image_error,
        samples=None if options.samples is None else str(options.samples),
        budget_minutes=options.budget_minutes,
        candidates=plan_candidates(situation, BACKENDS),
    )


def run_plan(
    path: Path, plan: Plan, out: Path, *, overwrite: bool = False, on_progress: Progress = lambda _: None
) -> Result:
    """Carry out a plan on the checkpoint at `path` and write the run folder `out`.

    The same plan into the same unfinished folder resumes. Raises `UsageError` where the plan was made for
    another file, `StorageError` where `out` is taken, `InterruptedRunError` on Ctrl-C.
    """
    if hash_file(path) != plan.source_sha256:
        raise UsageError(f"The plan was made for another file than {path}. Make a new plan for this one.")
    checkpoint = load_checkpoint(path)
    folder = RunFolder(out, plan, overwrite=overwrite)
    try:
        return _Run(path, checkpoint, plan, folder, on_progress).carry_out()
    except KeyboardInterrupt:
        raise InterruptedRunError(
            f"Interrupted; what was done is kept in {out}. Repeat the same command to go on from there."
        ) from None


class _Run:
    """One run's steps, each of which is skipped where an interrupted run has done it already."""

    def __init__(
        self, path: Path, checkpoint: Checkpoint, plan: Plan, folder: RunFolder, on_progress: Progress
    ) -> None:
        assert isinstance(checkpoint.generator, Network)
        self._network = checkpoint.generator
        self._checkpoint = checkpoint
        self._path = path
        self._plan = plan
        self._folder = folder
        self._say = on_progress
        self._original = CheckpointSource(path=path.resolve())
        self._deadline = Deadline(None if plan.budget_minutes is None else plan.budget_minutes * 60)

    def carry_out(self) -> Result:
        arrays = draw_test_inputs(
            self._network.inputs,
            seed=self._plan.seed,
            samples=None if self._plan.samples is None else Path(self._plan.samples),
            image_size=self._plan.image_size,
        )
        expected = self._run_original(arrays)
        builds = {name: self._build(name) for name in self._proposed()}
        qualities = {
            name: self._judge_images(name, arrays, expected)
            for name, build in builds.items()
            if build.status == "built"
        }
        comparison = self._measure([name for name, result in qualities.items() if result.quality])
        candidates = judge_candidates(self._plan, builds, qualities, comparison)
        best = pick_best(candidates, goal=self._plan.goal)
        verification = self._verify(best, expected)
        evidence = Evidence(
            checkpoint=self._checkpoint,
            path=self._path,
            plan=self._plan,
            comparison=comparison,
            candidates=candidates,
            best=best,
            expected=expected,
            images=None if best is None else np.load(self._images_file(best.name)),
            verification=verification,
            command=" ".join(sys.argv),
        )
        return self._write(evidence)

    def _proposed(self) -> list[str]:
        return [candidate.name for candidate in self._plan.candidates if not candidate.is_skipped]

    def _run_original(self, arrays: Mapping[str, Array]) -> Images:
        self._say("running the original on the test inputs")
        return run_original(self._original, arrays, threads=self._plan.threads)

    def _build(self, name: str) -> BuildResult:
        known = self._folder.read_state(f"build-{name}", BuildResult)
        if known is not None:
            return known
        planned = next(candidate for candidate in self._plan.candidates if candidate.name == name)
        if self._deadline.is_over:
            return BuildResult(name=name, status="failed", reason="not tried: the time budget was used up")
        self._say(f"building {name}")
        assert isinstance(self._checkpoint.generator, Network)
        result = build_candidate(
            self._checkpoint.generator, planned, self._artifact_dir(name), threads=self._plan.threads
        )
        self._folder.write_state(f"build-{name}", result)
        return result

    def _judge_images(self, name: str, arrays: Mapping[str, Array], expected: Images) -> QualityResult:
        known = self._folder.read_state(f"quality-{name}", QualityResult)
        if known is not None:
            return known
        self._say(f"comparing the images of {name}")
        result = judge_images(
            self._subject(name), arrays, expected, self._network.output, self._images_file(name)
        )
        self._folder.write_state(f"quality-{name}", result)
        return result

    def _measure(self, names: list[str]) -> Comparison:
        known = self._folder.read_state("comparison", Comparison)
        if known is not None:
            return known
        self._say(f"timing the original and {len(names)} candidates in {self._plan.rounds} rounds")
        subjects = [
            as_is_baseline(self._original, threads=self._plan.threads),
            tuned_baseline(self._original, threads=self._plan.threads),
            *(self._subject(name) for name in names),
        ]
        comparison = compare_subjects(
            subjects,
            ComparisonOptions(
                batch_size=self._plan.batch,
                seed=self._plan.seed,
                image_size=self._plan.image_size,
                num_rounds=self._plan.rounds,
                budget_s=None if self._plan.budget_minutes is None else self._deadline.remaining_s,
            ),
        )
        self._folder.write_state("comparison", comparison)
        return comparison

    def _verify(self, best: Candidate | None, expected: Images) -> Verification:
        known = self._folder.read_state("verification", Verification)
        if known is not None:
            return known
        self._say("verifying the best candidate" if best else "profiling the original")
        verification = verify_best(
            self._network,
            self._original,
            best if best is None else self._subject(best.name),
            plan=self._plan,
            best=best,
            throughput_batches=THROUGHPUT_BATCHES,
            image_bytes=expected[0].nbytes,
        )
        self._folder.write_state("verification", verification)
        return verification

    def _write(self, evidence: Evidence) -> Result:
        """Write the results, the report last, so that a folder with a report is whole."""
        report = assemble_report(evidence)
        out = self._folder.path
        artifact = None
        if evidence.best is not None:
            staged = self._folder.scratch("artifact")
            if staged.exists():
                shutil.rmtree(staged)
            shutil.copytree(self._artifact_dir(evidence.best.name), staged)
            artifact = self._folder.adopt(staged, "artifact")
        draw_samples_sheet(evidence, out / "samples.png")
        write_plan(out / "plan.yaml", self._plan)
        staged_page = self._folder.scratch("report.html")
        write_page(report, make_samples(evidence), staged_page)
        self._folder.adopt(staged_page, "report.html")
        write_text(out / "report.json", report.model_dump_json(indent=1))
        self._folder.finish()
        return Result(out=out, report=report, artifact=artifact)

    def _subject(self, name: str) -> Subject:
        return artifact_subject(name, self._artifact_dir(name), self._plan)

    def _artifact_dir(self, name: str) -> Path:
        return self._folder.scratch(f"built-{name}")

    def _images_file(self, name: str) -> Path:
        return self._folder.scratch(f"images-{name}.npy")
