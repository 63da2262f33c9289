"""Augmentation or preprocessing on the main thread holds up the step."""

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, say_ms, top_names
from gantune.profiling.scene import Scene
from gantune.profiling.small_work import DISPATCH_US
from gantune.profiling.trace.events import Kind
from gantune.profiling.vocabulary import is_preprocessing
from gantune.records.profile import Evidence, Finding


def find(scene: Scene) -> Finding | None:
    """Fire where named preprocessing takes the host's time, and with a device leaves it idle."""
    seen = scene.seen
    if scene.is_device_missing:
        return None
    time = scene.host.preprocessing
    if scene.device is not None:
        time = time.intersect(scene.device.idle)
    if scene.device is None and seen.has_operators:
        # Augmentation made of operators belongs into a GAN's step, and other rules know what slows it.
        time = time.subtract(seen.time_of(seen.trace.of_kind(Kind.OPERATOR))).longer_than(DISPATCH_US)
    share = seen.share(time)
    if share < MIN_SHARE:
        return None
    mask = seen.named(is_preprocessing) & seen.is_host
    return conclude(
        "host_preprocessing",
        share,
        evidence=(
            Evidence(
                text=f"Preprocessing on the main thread takes {say_ms(time.total)}, {percent(share)} of "
                f"the window.",
                events=top_names(seen.trace, mask),
                source_line=scene.host.line_of(mask),
            ),
        ),
        confidence="medium",
        remedy="Move it into the data set, so that workers do it beside the step, or onto the device in "
        "one batch.",
    )
