"""The run: try each candidate, measure, keep or reject, verify the best, leave artifact and report."""

import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gantune.checkpoints import Checkpoint, load_checkpoint
from gantune.errors import InterruptedRunError, QualityError, UnavailableError, UsageError
from gantune.machine.whole_files import write_text
from gantune.measuring.latency import Deadline
from gantune.optimizing.assemble import Evidence, assemble_report, read_budget
from gantune.optimizing.decide import pick_best, rank_by_goal
from gantune.optimizing.distribution import fill_distances, is_distribution_wanted, score_artifact
from gantune.optimizing.facts import hash_file
from gantune.optimizing.illustrate import draw_samples_sheet, make_samples
from gantune.optimizing.refine import Workshop, refine
from gantune.optimizing.run_folder import RunFolder, write_plan
from gantune.optimizing.verify import Verification, verify_best
from gantune.optimizing.workbench import Workbench
from gantune.quality.image_sources import PictureFiles
from gantune.records.candidate import Candidate
from gantune.records.measurement import Comparison
from gantune.records.plan import Plan, PlannedCandidate
from gantune.records.report import Report
from gantune.records.search import Search
from gantune.reporting import write_page
from gantune.reporting.blind_page import write_blind_page

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


def run_plan(
    path: Path, plan: Plan, out: Path, *, overwrite: bool = False, on_progress: Progress = lambda _: None
) -> Result:
    """Carry out a plan on the checkpoint at `path` and write the run folder `out`.

    The same plan into the same unfinished folder resumes. Raises `UsageError` where the plan was made for
    another file, `UnavailableError` where nothing in it can be tried here, `StorageError` where `out` is
    taken, `InterruptedRunError` on Ctrl-C.
    """
    if hash_file(path) != plan.source_sha256:
        raise UsageError(f"The plan was made for another file than {path}. Make a new plan for this one.")
    if all(candidate.is_skipped for candidate in plan.candidates):
        raise UnavailableError(_word_nothing_to_try(plan))
    checkpoint = load_checkpoint(path)
    # What would stop the run is said before its folder is made, not after minutes of building.
    read_budget(plan)
    if plan.data is not None:
        PictureFiles(Path(plan.data))
    folder = RunFolder(out, plan, overwrite=overwrite)
    run = _Run(path, checkpoint, plan, folder, on_progress)
    try:
        return run.carry_out()
    except KeyboardInterrupt:
        raise InterruptedRunError(
            f"Interrupted; what was done is kept in {out}. Repeat the same command to go on from there."
        ) from None
    finally:
        run.close()


class _Run:
    """One run's steps, each of which is skipped where an interrupted run has done it already."""

    def __init__(
        self, path: Path, checkpoint: Checkpoint, plan: Plan, folder: RunFolder, on_progress: Progress
    ) -> None:
        self._checkpoint = checkpoint
        self._path = path
        self._folder = folder
        self._say = on_progress
        self._deadline = Deadline(None if plan.budget_minutes is None else plan.budget_minutes * 60)
        self._bench = Workbench(path, checkpoint.generator, plan, folder, self._deadline, on_progress)

    def close(self) -> None:
        """End the processes that were kept for the next comparison."""
        self._bench.pool.close()

    def carry_out(self) -> Result:
        bench = self._bench
        bench.prepare()
        comparison = bench.compare_all(bench.try_proposed())
        leader = bench.pick_leader()
        search = Search(num_built=0, num_reused=0, stopped=comparison.stopped, end="nothing was kept")
        undone: frozenset[str] = frozenset()
        if leader is not None:
            search, comparison, undone = self._refine(leader, comparison)
        lost = frozenset(search.stopped) | undone
        candidates = bench.judge()
        if is_distribution_wanted(bench.plan):
            candidates = self._fill_distances(candidates, lost)
        best = pick_best(candidates, goal=bench.plan.goal, stopped=lost)
        evidence = Evidence(
            checkpoint=self._checkpoint,
            path=self._path,
            plan=bench.plan,
            comparison=comparison,
            candidates=candidates,
            best=best,
            expected=bench.expected,
            images=None if best is None else bench.read_images(best.name),
            verification=self._verify(best),
            command=_command_line(),
            search=search.model_copy(update={"num_built": bench.num_built, "num_reused": bench.num_reused}),
            fallbacks=bench.list_fallbacks(),
        )
        return self._write(evidence)

    def _refine(
        self, leader: PlannedCandidate, comparison: Comparison
    ) -> tuple[Search, Comparison, frozenset[str]]:
        """Change the leader step by step; what is left leading is measured once more beside the original.

        The changes that it left behind come last: they cannot be the best, whatever one more timing says.
        """
        bench = self._bench
        measured = comparison.result(leader.name).measured
        assert measured is not None
        found = refine(
            leader,
            measured,
            Workshop(bench.try_change, bench.name_bottleneck, lambda: self._deadline.is_over),
            threads=bench.plan.threads,
            goal=bench.plan.goal,
            budget=read_budget(bench.plan),
            # A change may give what was skipped as a candidate of its own.
            known=tuple(one for one in bench.plan.candidates if not one.is_skipped),
        )
        bench.add_planned(found.tried)
        search = Search(
            num_built=0, num_reused=0, stopped=comparison.stopped, changes=found.changes, end=found.end
        )
        is_changed = found.leader.name != leader.name
        if is_changed or not (comparison.is_complete or self._deadline.is_over):
            comparison = bench.compare_finalists([leader, *([found.leader] if is_changed else [])])
        undone = frozenset(changed.name for changed in found.tried if changed.name != found.leader.name)
        return search, comparison, undone

    def _fill_distances(
        self, candidates: tuple[Candidate, ...], lost: frozenset[str]
    ) -> tuple[Candidate, ...]:
        bench = self._bench
        self._say("comparing distributions")
        kept = [one for one in candidates if one.status == "kept" and one.name not in lost]
        order = sorted(kept, key=lambda candidate: rank_by_goal(candidate, bench.plan.goal))
        return fill_distances(
            candidates,
            [candidate.name for candidate in order],
            plan=bench.plan,
            budget=read_budget(bench.plan),
            measure=lambda name: score_artifact(bench.artifact_dir(name), self._path, bench.plan),
        )

    def _verify(self, best: Candidate | None) -> Verification:
        known = self._folder.read_state("verification", Verification)
        if known is not None:
            return known
        self._say("verifying the best candidate" if best else "profiling the original")
        bench = self._bench
        verification = verify_best(
            bench.network,
            bench.original,
            best if best is None else bench.subject(bench.planned(best.name)),
            plan=bench.plan,
            best=best,
            throughput_batches=THROUGHPUT_BATCHES,
            image_bytes=bench.expected[0].nbytes,
            pool=bench.pool,
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
            shutil.copytree(self._bench.artifact_dir(evidence.best.name), staged)
            artifact = self._folder.adopt(staged, "artifact")
        draw_samples_sheet(evidence, out / "samples.png")
        write_plan(out / "plan.yaml", self._bench.replayable_plan)
        staged_page = self._folder.scratch("report.html")
        samples = make_samples(evidence)
        write_page(report, samples, staged_page)
        if samples:
            write_blind_page(report, samples, out / "blind.html")
        self._folder.adopt(staged_page, "report.html")
        write_text(out / "report.json", report.model_dump_json(indent=1))
        self._folder.finish()
        return Result(out=out, report=report, artifact=artifact)


def _word_nothing_to_try(plan: Plan) -> str:
    reasons = {candidate.name: candidate.why for candidate in plan.candidates}
    wanted = {name: why for name, why in reasons.items() if why.startswith("proposed")} or reasons
    told = "; ".join(f"{name}: {why}" for name, why in wanted.items())
    return f"Nothing can be tried here on the branch {plan.branch or plan.target} ({told})."


def _command_line() -> str:
    """Write the command as it is typed: `gantune …`, or the script that called the Python function."""
    is_ours = Path(sys.argv[0]).name in {"gantune", "gantune.exe", "__main__.py"}
    return shlex.join(["gantune", *sys.argv[1:]] if is_ours else sys.argv)
