"""Something that only watches training takes time in every step."""

from gantune.profiling.findings.conclusion import conclude, percent, say_ms, top_names
from gantune.profiling.phases import METRICS, name_phase
from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import Kind
from gantune.profiling.trace.kinds import user_frame
from gantune.records.profile import Evidence, Finding

# Clipping, checks and small sums without gradients are part of many steps.
MIN_SHARE = 0.10
# Seen this often, a metric still shows where training goes.
INTERVAL = 100


def find(scene: Scene) -> Finding | None:
    """Fire where metrics, or work without gradients that trains nothing, run in half of the steps or more."""
    seen = scene.seen
    phase = next((one for one in scene.phases if one.name == METRICS), None)
    if phase is None or len(seen.steps) < 2 or phase.num_steps < 0.5 * len(seen.steps):
        return None
    share = min(1.0, phase.host_us / seen.window_us)
    if share < MIN_SHARE:
        return None
    ranges = seen.named(lambda name: name_phase(name) == METRICS) & seen.trace.of_kind(Kind.RANGE)
    within = seen.time_of(ranges)
    mask = seen.trace.of_kind(Kind.OPERATOR) & seen.in_window & within.covers(seen.trace.start_us)
    line = scene.host.line_of(mask)
    longest = top_names(seen.trace, ranges & seen.in_window, count=1)
    entered = user_frame(longest[0].removeprefix(f"{METRICS}: ")) if longest else ""
    whole = [Evidence(text=f"Most of it is entered at {entered}.", source_line=entered)] if entered else []
    return conclude(
        "evaluation",
        share,
        evidence=(
            Evidence(
                text=f"In {phase.num_steps} of {len(seen.steps)} steps, {say_ms(phase.host_us)}, "
                f"{percent(share)} of the window, pass without gradients outside of the networks that are "
                f"trained, their optimizers and averages: no weight learns from it.",
                events=top_names(seen.trace, mask),
                source_line=line,
            ),
            *whole,
        ),
        confidence="high" if line else "medium",
        remedy=f"Where it only watches training (a metric, samples, a check), do it every {INTERVAL}th step; "
        "where it prepares data, do it once in the data set or in loader workers.",
        removable=1 - 1 / INTERVAL,
    )
