"""Gradient penalties in every step."""

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, say_ms
from gantune.profiling.phases import REGULARIZATION
from gantune.profiling.scene import Scene
from gantune.records.profile import Evidence, Finding

# Every 16th step, as StyleGAN2 does it (Karras et al. 2020, section 3.1, "lazy regularization").
INTERVAL = 16


def find(scene: Scene) -> Finding | None:
    """Fire where R1 or path-length regularization runs in at least half of the steps."""
    num_steps = max(len(scene.seen.steps), 1)
    often = [
        phase for phase in scene.phases if phase.name in REGULARIZATION and phase.num_steps >= 0.5 * num_steps
    ]
    share = min(1.0, sum(phase.host_us for phase in often) / scene.seen.window_us)
    if share < MIN_SHARE or (num_steps < 2 and not scene.seen.steps):
        return None
    return conclude(
        "regularization",
        share,
        evidence=[
            Evidence(
                text=f"{phase.name} runs in {phase.num_steps} of {num_steps} steps: "
                f"{say_ms(phase.host_us)}, {percent(phase.host_us / scene.seen.window_us)} of the window."
            )
            for phase in often
        ],
        confidence="high",
        remedy=f"Regularize lazily: every {INTERVAL}th step with {INTERVAL} times the weight; the result "
        f"is the same within noise.",
        removable=1 - 1 / INTERVAL,
    )
