"""The step waits for its data."""

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, say_ms, top_names
from gantune.profiling.scene import Scene
from gantune.profiling.vocabulary import is_data_loading
from gantune.records.profile import Evidence, Finding


def find(scene: Scene) -> Finding | None:
    """Fire where the loader leaves the device idle, or without a device where it holds up the main thread."""
    seen = scene.seen
    if scene.is_device_missing:
        return None
    loading = scene.device.loading if scene.device else scene.host.loading
    share = seen.share(scene.device.idle_by_cause["data"] if scene.device else loading)
    if share < MIN_SHARE:
        return None
    mask = seen.named(is_data_loading) & seen.is_host
    num_waits = int((mask & seen.in_window).sum())
    text = (
        f"The main thread spends {percent(seen.share(loading))} of the window in the data loader "
        f"({num_waits} calls, {say_ms(loading.total)})"
    )
    text += f"; the device is idle for {percent(share)} of the window meanwhile." if scene.device else "."
    names = top_names(seen.trace, mask)
    is_single = any("SingleProcess" in name for name in names)
    is_tensorflow = seen.trace.framework == "TensorFlow"
    if is_tensorflow:
        remedy = (
            "Add dataset.prefetch(tf.data.AUTOTUNE) at the end, map(…, "
            "num_parallel_calls=tf.data.AUTOTUNE), and cache() what fits in memory."
        )
    elif is_single:
        remedy = (
            "Load in worker processes: DataLoader(num_workers=N, persistent_workers=True, "
            "pin_memory=True on a GPU), N the smallest that covers the step."
        )
    else:
        remedy = (
            "The workers do not keep up: raise num_workers or prefetch_factor, decode less in the "
            "data set, or store decoded images."
        )
    return conclude(
        "data_loading",
        share,
        evidence=(Evidence(text=text, events=names, source_line=scene.host.line_of(mask)),),
        confidence="high",
        remedy=remedy,
    )
