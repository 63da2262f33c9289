"""The step waits for its data."""

import numpy as np

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, say_ms, top_names
from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import Kind
from gantune.profiling.trace.kinds import is_pipeline_track
from gantune.profiling.vocabulary import is_data_loading, is_waiting_for_batch
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
    waits = seen.named(is_waiting_for_batch) & mask
    waiting, where = (waits, "for tf.data") if waits.any() else (mask, "in the data loader")
    text = (
        f"The main thread waits {where} for {percent(seen.share(loading))} of the window "
        f"({int((waiting & seen.in_window).sum())} calls, {say_ms(loading.total)})"
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
    evidence = [Evidence(text=text, events=names, source_line=scene.host.line_of(mask))]
    return conclude(
        "data_loading",
        share,
        evidence=[*evidence, *_slowest_work(scene)],
        confidence="high",
        remedy=remedy,
    )


def _slowest_work(scene: Scene) -> tuple[Evidence, ...]:
    """Name what takes longest on the threads of tf.data, where the trace shows them."""
    trace = scene.seen.trace
    is_pipeline = np.array([is_pipeline_track(track) for track in trace.tracks], dtype=bool)[trace.track]
    work = is_pipeline & trace.of_kind(Kind.RANGE) & scene.seen.in_window
    work &= ~scene.seen.named(is_data_loading)
    names = top_names(trace, work)
    if not names:
        return ()
    time_us = float(trace.duration_us[work & scene.seen.named(lambda name: name == names[0])].sum())
    text = f"On the pipeline's own threads {names[0]} takes longest: {say_ms(time_us)}."
    return (Evidence(text=text, events=names),)
