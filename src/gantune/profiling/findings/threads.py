"""More threads than cores."""

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent
from gantune.profiling.scene import Scene
from gantune.records.profile import Evidence, Finding


def find(scene: Scene) -> Finding | None:
    """Fire where the process computes with more threads than it may use cores."""
    threads, cores = scene.seen.counters.threads, scene.seen.counters.num_cores
    if threads is None or cores is None or threads <= cores or scene.device is not None:
        return None
    waiting = scene.seen.counters.run_delay_share
    share = 1 - cores / threads if waiting is None else min(1 - cores / threads, waiting)
    if share < MIN_SHARE:
        return None
    evidence = [
        Evidence(
            text=f"{threads} computing threads share {cores} cores; they wait for each other at every "
            f"operator's end."
        )
    ]
    if waiting is not None:
        evidence.append(
            Evidence(text=f"The training thread was ready without a core for {percent(waiting)} of the time.")
        )
    return conclude(
        "threads",
        share,
        evidence=evidence,
        confidence="medium",
        remedy=f"OMP_NUM_THREADS={cores} (or torch.set_num_threads({cores})), and one thread in each "
        f"loader worker.",
    )
