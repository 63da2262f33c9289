"""All rules, and how their answers are ranked."""

from collections.abc import Callable

from gantune.profiling.findings import (
    allocator,
    batch_size,
    cannot_judge_gpu,
    cold_start,
    communication,
    data_loading,
    dominant_operator,
    evaluation,
    host_device_copies,
    host_preprocessing,
    idle_gpu,
    launch_bound,
    launch_geometry,
    library_settings,
    memory_layout,
    nothing_to_mend,
    precision,
    python_overhead,
    reference_ops,
    regularization,
    synchronization,
    threads,
)
from gantune.profiling.findings.conclusion import MIN_SHARE
from gantune.profiling.scene import Scene
from gantune.records.profile import Finding

Rule = Callable[[Scene], Finding | None]

RULES: tuple[Rule, ...] = (
    cannot_judge_gpu.find,
    cold_start.find,
    data_loading.find,
    host_preprocessing.find,
    regularization.find,
    evaluation.find,
    synchronization.find,
    allocator.find,
    communication.find,
    launch_geometry.find,
    launch_bound.find,
    python_overhead.find,
    host_device_copies.find,
    precision.find,
    memory_layout.find,
    threads.find,
    reference_ops.find,
    library_settings.find,
    batch_size.find,
    dominant_operator.find,
    idle_gpu.find,
)
# These say that the file cannot show the steady step, so they come before anything it seems to show.
VERDICTS_ON_THE_FILE = ("cannot_judge_gpu", "cold_start")


def diagnose(scene: Scene) -> tuple[Finding, ...]:
    """Ask every rule and rank the answers by the share of wall time they cost.

    A healthy scene says so first, before what costs too little to matter.
    """
    found = [finding for rule in RULES if (finding := rule(scene)) is not None]
    is_healthy = all(finding.share is not None and finding.share < MIN_SHARE for finding in found)
    return ((nothing_to_mend.find(scene),) if is_healthy else ()) + rank(found)


def rank(findings: list[Finding]) -> tuple[Finding, ...]:
    """Put verdicts on the file first, then the largest share; an unknown share comes last."""

    def key(finding: Finding) -> tuple[bool, float]:
        is_verdict = finding.kind in VERDICTS_ON_THE_FILE
        return not is_verdict, -(finding.share if finding.share is not None else 0.0)

    return tuple(sorted(findings, key=key))
