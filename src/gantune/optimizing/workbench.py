"""The workbench of a run: builds candidates, compares their images, times them; remembers all of it."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from gantune.errors import GantuneError
from gantune.measuring import (
    CheckpointSource,
    ComparisonOptions,
    Subject,
    WorkerPool,
    as_is_baseline,
    compare_subjects,
    tuned_baseline,
)
from gantune.measuring.comparison import Eliminate, IsDecided
from gantune.measuring.form_fallbacks import gather_fallbacks
from gantune.measuring.latency import Deadline
from gantune.networks.contract import Network
from gantune.optimizing.assemble import Timing, judge_candidates, read_budget
from gantune.optimizing.bottleneck import describe_bottleneck
from gantune.optimizing.build import BuildResult, build_candidate
from gantune.optimizing.build_cache import BuildCache, candidate_key
from gantune.optimizing.decide import pick_best
from gantune.optimizing.halving import BASELINES, make_eliminator, make_finder, make_undoer
from gantune.optimizing.integers import IntegerRun
from gantune.optimizing.refine import ChangeTrial
from gantune.optimizing.run_folder import RunFolder
from gantune.optimizing.samples import draw_calibration_arrays, draw_test_inputs
from gantune.optimizing.shared_builds import SharedBuilds
from gantune.optimizing.trial import Images, QualityResult, artifact_subject, judge_images, run_original
from gantune.optimizing.waiting import find_forerunner
from gantune.quality.gate import find_image_violations
from gantune.records.candidate import Candidate, Interval
from gantune.records.fallback import FormFallback
from gantune.records.interface import InputSpec
from gantune.records.measurement import Comparison
from gantune.records.plan import Plan, PlannedCandidate, Step
from gantune.runtime.sampling import Array

CHANGE_ROUNDS = 9
# Long enough for a hundred calls of the fastest networks, in each of 15 rounds.
VISIT_MS = 50.0


class Workbench:
    """Hold the network, the plan as it grows, and what was built, compared and timed."""

    def __init__(
        self,
        path: Path,
        network: nn.Module,
        plan: Plan,
        folder: RunFolder,
        deadline: Deadline,
        on_progress: Callable[[str], None],
    ) -> None:
        assert isinstance(network, Network)
        self.network: Network = network
        self.plan = plan
        self.original = CheckpointSource(path=path.resolve())
        self.num_built = 0
        self.num_reused = 0
        self.pool = WorkerPool()
        self._folder = folder
        self._deadline = deadline
        self._say = on_progress
        self._cache = BuildCache()
        self._shared = SharedBuilds()
        self._builds: dict[str, BuildResult] = {}
        self._waited: dict[str, PlannedCandidate] = {}
        self._qualities: dict[str, QualityResult] = {}
        self._timings: dict[str, Timing] = {}
        self._stopped: frozenset[str] = frozenset()
        self._integers = IntegerRun(
            draw_calibration=lambda: draw_calibration(self.network.inputs, self.plan),
            min_db=read_budget(plan).min_psnr_db,
            image_error=plan.image_error,
        )

    def prepare(self) -> None:
        """Draw the test inputs and run the original on them."""
        self.arrays: dict[str, Array] = draw_test_inputs(
            self.network.inputs,
            seed=self.plan.seed,
            samples=None if self.plan.samples is None else Path(self.plan.samples),
            image_size=self.plan.image_size,
        )
        self._say("running the original on the test inputs")
        self.expected: Images = run_original(self.original, self.arrays, threads=self.plan.threads)

    def planned(self, name: str) -> PlannedCandidate:
        """Find a candidate of the plan by its name."""
        return next(candidate for candidate in self.plan.candidates if candidate.name == name)

    @property
    def replayable_plan(self) -> Plan:
        """Give the plan with those that this run passed over as it found them: a replay decides anew."""
        candidates = tuple(self._waited.get(one.name, one) for one in self.plan.candidates)
        return self.plan.model_copy(update={"candidates": candidates})

    def add_planned(self, tried: Iterable[PlannedCandidate]) -> None:
        """Let the plan grow by what the loop has tried, so that a replay tries it too."""
        self.plan = self.plan.model_copy(update={"candidates": (*self.plan.candidates, *tried)})

    def try_proposed(self) -> list[PlannedCandidate]:
        """Build what the plan proposes and compare its images; give those that have figures.

        One that waits for a better runner is skipped where that one can be kept.
        """
        ready: list[PlannedCandidate] = []
        for planned in self.plan.candidates:
            if planned.is_skipped:
                continue
            inside = [one.name for one in ready if not self._find_violations(one)]
            why = find_forerunner(planned, inside, goal=self.plan.goal, budget=read_budget(self.plan))
            if why:
                self._skip(planned, why)
            elif self.try_images(planned).quality is not None:
                ready.append(planned)
        return ready

    def try_images(self, planned: PlannedCandidate, *, same_images: str | None = None) -> QualityResult:
        """Build a candidate and compare its images; `same_images` names one that has the same."""
        build = self._build(planned)
        self._builds[planned.name] = build
        if build.status == "failed":
            return QualityResult(name=planned.name, reason=build.reason)
        self._shared.remember(build, planned, self.artifact_dir(planned.name))
        name = f"quality-{planned.name}"
        result = self._folder.read_state(name, QualityResult)
        images = self._images_file(planned.name)
        if result is None and same_images is not None:
            result = self._qualities[same_images].model_copy(update={"name": planned.name})
            shutil.copyfile(self._images_file(same_images), images)
            self._folder.write_state(name, result)
        if result is None:
            self._say(f"comparing the images of {planned.name}")
            subject = self.subject(planned)
            result = judge_images(subject, self.arrays, self.expected, self.network.output, images)
            self._folder.write_state(name, result)
            if result.quality is not None:
                self._cache.keep_candidate(
                    candidate_key(self.plan, planned), build, result, self.artifact_dir(planned.name), images
                )
        self._qualities[planned.name] = result
        return result

    def compare_all(self, ready: Sequence[PlannedCandidate]) -> Comparison:
        """Time the original and all candidates by successive halving, until one leads beyond doubt."""
        found = {planned.name: "; ".join(self._find_violations(planned)) for planned in ready}
        outside = {name: violations for name, violations in found.items() if violations}
        eliminate = make_eliminator(outside, is_speed_the_goal=self._is_speed_the_goal)
        self._say(f"timing the original and {len(ready)} candidates in up to {self.plan.rounds} rounds")
        comparison = self._compare(
            "comparison",
            ready,
            self.plan.rounds,
            eliminate=eliminate,
            is_decided=make_finder(outside) if self._is_speed_the_goal else None,
        )
        self._stopped = frozenset(comparison.stopped)
        return comparison

    def compare_finalists(self, finalists: Sequence[PlannedCandidate]) -> Comparison:
        """Time the original, the leader before the loop and the one after it, all of them together."""
        self._say(f"timing the original and {finalists[-1].name} in all rounds")
        return self._compare("comparison-final", finalists, self.plan.rounds)

    def try_change(self, leader: PlannedCandidate, changed: PlannedCandidate) -> ChangeTrial:
        """Build a changed leader, compare its images, and time it beside the leader and the original."""
        is_allocator_alone = _leave_out_allocator(leader) == _leave_out_allocator(changed)
        quality = self.try_images(changed, same_images=leader.name if is_allocator_alone else None)
        if quality.quality is None:
            return ChangeTrial(None, None, quality.reason)
        violations = self._find_violations(changed)
        if violations:
            return ChangeTrial(None, None, "; ".join(violations))
        self._say(f"timing {changed.name} beside {leader.name}")
        rounds = min(CHANGE_ROUNDS, self.plan.rounds)
        comparison = self._compare(
            f"change-{changed.name}",
            [leader, changed],
            rounds,
            has_as_is=False,
            leader=leader.name,
            is_decided=make_undoer(leader.name, changed.name) if self._is_speed_the_goal else None,
        )
        result = comparison.result(changed.name)
        if result.measured is None:
            return ChangeTrial(None, None, result.reason)
        gain = self._gain(comparison, leader.name, changed.name)
        if gain is None or gain.low <= 1:
            self.pool.drop(self.subject(changed))
        return ChangeTrial(gain, result.measured)

    def name_bottleneck(self, planned: PlannedCandidate) -> str:
        """Profile a built candidate and say what takes the most of its time."""
        assert isinstance(self.network, nn.Module)
        try:
            return describe_bottleneck(
                self.network,
                planned,
                self.artifact_dir(planned.name),
                threads=self.plan.threads,
                image_size=self.plan.image_size,
            )
        except GantuneError as error:
            return f"not profiled: {error}"

    def pick_leader(self) -> PlannedCandidate | None:
        """Pick the best of what is kept so far, None for nothing."""
        best = pick_best(self.judge(), goal=self.plan.goal, stopped=self._stopped)
        if best is None:
            return None
        for name in self._builds:
            if name != best.name:
                self.pool.drop(self.subject(self.planned(name)))
        return self.planned(best.name)

    def judge(self) -> tuple[Candidate, ...]:
        """Decide on every candidate that was tried."""
        return judge_candidates(
            self.plan, self._builds, self._qualities, self._timings, self._timings["tuned"]
        )

    def list_fallbacks(self) -> tuple[FormFallback, ...]:
        """List the slower forms of operations that were built or measured, each with what took it."""
        built = [(name, build.fallbacks) for name, build in self._builds.items()]
        measured = [(name, timing.result.fallbacks) for name, timing in self._timings.items()]
        return gather_fallbacks([*built, *measured])

    def subject(self, planned: PlannedCandidate) -> Subject:
        """Describe a candidate as it is run."""
        return artifact_subject(planned, self.artifact_dir(planned.name), threads=self.plan.threads)

    def artifact_dir(self, name: str) -> Path:
        """Name the folder of a candidate's artifact."""
        return self._folder.scratch(f"built-{name}")

    def read_images(self, name: str) -> Images:
        """Read what a candidate gave for the test inputs."""
        images: Images = np.load(self._images_file(name), allow_pickle=False)
        return images

    @property
    def _is_speed_the_goal(self) -> bool:
        return self.plan.goal in ("latency", "throughput")

    def _find_violations(self, planned: PlannedCandidate) -> list[str]:
        quality = self._qualities[planned.name].quality
        assert quality is not None
        return find_image_violations(read_budget(self.plan), quality, image_error=self.plan.image_error)

    def _skip(self, planned: PlannedCandidate, why: str) -> None:
        """Note in the plan why a candidate was not built after all."""
        self._waited[planned.name] = planned
        skipped = planned.model_copy(update={"is_skipped": True, "why": why})
        candidates = (skipped if one is planned else one for one in self.plan.candidates)
        self.plan = self.plan.model_copy(update={"candidates": tuple(candidates)})

    def _build(self, planned: PlannedCandidate) -> BuildResult:
        name = f"build-{planned.name}"
        known = self._folder.read_state(name, BuildResult)
        if known is not None:
            return known
        if self._deadline.is_over:
            return BuildResult(
                name=planned.name, status="failed", reason="not tried: the time budget was used up"
            )
        key = candidate_key(self.plan, planned)
        kept = self._cache.fetch_candidate(
            key, self.artifact_dir(planned.name), self._images_file(planned.name)
        )
        if kept is not None:
            self.num_reused += 1
            self._folder.write_state(f"quality-{planned.name}", kept.quality)
            result = kept.build
        else:
            result = self._build_anew(planned)
        self._folder.write_state(name, result)
        return result

    def _build_anew(self, planned: PlannedCandidate) -> BuildResult:
        target = self.artifact_dir(planned.name)
        shared = self._shared.reuse(planned, target, threads=self.plan.threads)
        if shared is not None:
            return shared
        self._say(f"building {planned.name}")
        self.num_built += 1
        assert isinstance(self.network, nn.Module)
        return build_candidate(
            self.network, planned, target, threads=self.plan.threads, integers=self._integers
        )

    def _compare(
        self,
        state: str,
        candidates: Sequence[PlannedCandidate],
        rounds: int,
        *,
        has_as_is: bool = True,
        leader: str | None = None,
        eliminate: Eliminate | None = None,
        is_decided: IsDecided | None = None,
    ) -> Comparison:
        known = self._folder.read_state(state, Comparison)
        if known is None:
            threads = self.plan.threads
            subjects = [
                *([as_is_baseline(self.original, threads=threads)] if has_as_is else []),
                tuned_baseline(self.original, threads=threads),
                *(self.subject(planned) for planned in candidates),
            ]
            known = compare_subjects(
                subjects,
                ComparisonOptions(
                    batch_size=self.plan.batch,
                    seed=self.plan.seed,
                    image_size=self.plan.image_size,
                    num_rounds=rounds,
                    min_visit_ms=VISIT_MS,
                    budget_s=None if self.plan.budget_minutes is None else self._deadline.remaining_s,
                    baselines=BASELINES if leader is None else (*BASELINES, leader),
                ),
                eliminate=eliminate,
                is_decided=is_decided,
                pool=self.pool,
            )
            self._folder.write_state(state, known)
        self._remember(known, is_final=leader is None)
        return known

    def _remember(self, comparison: Comparison, *, is_final: bool) -> None:
        """Keep each subject's comparison; a trial beside the leader never replaces a full one."""
        for result in comparison.results:
            if is_final or result.name not in self._timings:
                speedups = comparison.speedups.get(result.name, {})
                stopped = comparison.stopped.get(result.name, "")
                self._timings[result.name] = Timing(result, speedups, stopped)

    def _gain(self, comparison: Comparison, leader: str, changed: str) -> Interval | None:
        if self.plan.goal in ("latency", "throughput"):
            return comparison.speedups[changed].get(leader)
        before, after = comparison.result(leader).measured, comparison.result(changed).measured
        if before is None or after is None:
            return None
        sizes = (self._builds[leader].size_bytes, self._builds[changed].size_bytes)
        pair = sizes if self.plan.goal == "size" else (before.peak_bytes, after.peak_bytes)
        ratio = pair[0] / max(pair[1], 1)
        return Interval(median=ratio, low=ratio, high=ratio)

    def _images_file(self, name: str) -> Path:
        return self._folder.scratch(f"images-{name}.npy")


def draw_calibration(inputs: Sequence[InputSpec], plan: Plan) -> Iterator[Mapping[str, Tensor]]:
    """Draw the batches that a plan's candidates of integers are calibrated on."""
    samples = None if plan.samples is None else Path(plan.samples)
    for arrays in draw_calibration_arrays(
        inputs, seed=plan.seed, samples=samples, image_size=plan.image_size
    ):
        yield {name: torch.from_numpy(array) for name, array in arrays.items()}


def _leave_out_allocator(planned: PlannedCandidate) -> list[Step]:
    """List the steps that a candidate's images follow from; where memory comes from changes none."""
    return [step for step in planned.steps if step.name != "allocator"]
