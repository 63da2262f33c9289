"""The only timers: latency, memory, page faults; one subject, one process. It imports no torch."""

from gantune.measuring.bootstrap import bootstrap_median
from gantune.measuring.comparison import ComparisonOptions, compare_subjects
from gantune.measuring.latency import measure_latency, summarize_durations, time_call
from gantune.measuring.process import WorkerProcess, run_subject
from gantune.measuring.subject import (
    ArtifactSource,
    CheckpointSource,
    FamilySource,
    Subject,
    as_is_baseline,
    tuned_baseline,
)
from gantune.measuring.worker_pool import WorkerPool

__all__ = [
    "ArtifactSource",
    "CheckpointSource",
    "ComparisonOptions",
    "FamilySource",
    "Subject",
    "WorkerPool",
    "WorkerProcess",
    "as_is_baseline",
    "bootstrap_median",
    "compare_subjects",
    "measure_latency",
    "run_subject",
    "summarize_durations",
    "time_call",
    "tuned_baseline",
]
