"""More threads than cores, or fewer than there are."""

from gantune.profiling.findings.conclusion import conclude
from gantune.profiling.scene import Scene
from gantune.records.profile import Evidence, Finding


def find(scene: Scene) -> Finding | None:
    """Fire where the process computes with more threads than it may use cores."""
    threads, cores = scene.seen.counters.threads, scene.seen.counters.num_cores
    if threads is None or cores is None or threads <= cores or scene.device is not None:
        return None
    return conclude(
        "threads",
        1 - cores / threads,
        evidence=(
            Evidence(
                text=f"{threads} computing threads share {cores} cores; they wait for each other at every "
                f"operator's end."
            ),
        ),
        confidence="medium",
        remedy=f"OMP_NUM_THREADS={cores} (or torch.set_num_threads({cores})), and one thread in each "
        f"loader worker.",
    )
