"""A kernel's grid and block do not fit the device, or it computes in float64 where such units are few."""

from dataclasses import dataclass

import numpy as np

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, say_ms, shorten
from gantune.profiling.findings.library_kernels import is_library_kernel
from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import Device
from gantune.profiling.vocabulary import is_double_kernel
from gantune.records.profile import Evidence, Finding

# A shorter kernel is launch bound whatever its geometry is.
MIN_KERNEL_US = 10.0
LOW_OCCUPANCY = 0.25
SMALL_BLOCK = 64
# NVIDIA: one float64 unit for two of float32 where the minor compute capability is 0, one for 32 elsewhere;
# even where they are many, float64 takes twice the bytes.
DOUBLE_COST = 2.0


@dataclass(frozen=True)
class _Kernel:
    name: str
    time_us: float
    lost: float
    reasons: tuple[str, ...]


def find(scene: Scene) -> Finding | None:
    """Fire where kernels that are the user's own lose the window's time by geometry, or any by float64."""
    if scene.device is None:
        return None
    kernels = _judge_kernels(scene)
    lost_us = sum(kernel.time_us * kernel.lost for kernel in kernels)
    share = min(1.0, lost_us / scene.seen.window_us)
    if share < MIN_SHARE:
        return None
    worst = sorted(kernels, key=lambda kernel: -kernel.time_us * kernel.lost)[:3]
    return conclude(
        "launch_geometry",
        share,
        evidence=[
            Evidence(
                text=f"{shorten(kernel.name)}: {say_ms(kernel.time_us)}; {'; '.join(kernel.reasons)}.",
                events=(shorten(kernel.name),),
            )
            for kernel in worst
        ],
        confidence="medium",
        remedy="Choose block and grid from the shape and the device: 128 to 256 threads in a block along "
        "the contiguous "
        "axis, several times as many blocks as the device has processors, float32 accumulators; "
        "gantune.ops.install() replaces StyleGAN's plug-in kernels.",
    )


def _judge_kernels(scene: Scene) -> list[_Kernel]:
    """Judge every kernel name that takes at least a hundredth of the window."""
    seen, trace, shape = scene.seen, scene.seen.trace, scene.seen.trace.geometry
    device = trace.devices[0] if trace.devices else Device(name="unknown")
    found = []
    for number in np.unique(trace.name[shape.row]):
        places = np.flatnonzero((trace.name[shape.row] == number) & seen.in_window[shape.row])
        rows = shape.row[places]
        time_us = float(trace.duration_us[rows].sum())
        is_long = len(rows) > 0 and float(np.median(trace.duration_us[rows])) >= MIN_KERNEL_US
        if is_long and time_us >= 0.01 * seen.window_us:
            found.append(_judge(trace.names[number], time_us, scene, places, device))
    return [kernel for kernel in found if kernel.lost > 0]


def _judge(
    name: str,
    time_us: float,
    scene: Scene,
    places: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    device: Device,
) -> _Kernel:
    shape = scene.seen.trace.geometry
    blocks = float(np.median(shape.grid[places].prod(axis=1)))
    block = np.median(shape.block[places], axis=0).astype(int)
    threads = int(block.prod())
    reasons, kept = [], 1.0
    if is_double_kernel(name):
        kept /= DOUBLE_COST
        reasons.append(
            "it computes in float64, at half the float32 speed at best and at a 32nd on devices without "
            "float64 units"
        )
    if not is_library_kernel(name):
        for factor, reason in _geometry_losses(blocks, threads, block.tolist(), device):
            kept *= factor
            reasons.append(reason)
        occupancy = (
            float(np.nanmedian(shape.occupancy[places]))
            if np.isfinite(shape.occupancy[places]).any()
            else None
        )
        if occupancy is not None and 0 < occupancy < LOW_OCCUPANCY and blocks >= (device.num_processors or 0):
            kept *= 0.5 + occupancy
            reasons.append(
                f"estimated occupancy {percent(occupancy)}, {int(np.median(shape.registers[places]))} "
                f"registers a thread"
            )
    return _Kernel(name, time_us, 1 - kept, tuple(reasons))


def _geometry_losses(
    blocks: float, threads: int, block: list[int], device: Device
) -> list[tuple[float, str]]:
    """Give (the part of the time that would be left, why) for each fault of grid and block."""
    losses: list[tuple[float, str]] = []
    processors = device.num_processors
    if 0 < threads < SMALL_BLOCK:
        losses.append(
            (max(threads / SMALL_BLOCK, 0.25), f"{threads} threads a block leave most of a processor unused")
        )
    if processors and 0 < blocks < processors:
        losses.append(
            (blocks / processors, f"{blocks:,.0f} blocks for {processors} processors of {device.name}")
        )
    elif processors and device.max_threads_a_processor and threads:
        a_wave = processors * max(1, device.max_threads_a_processor // threads)
        waves = blocks / a_wave
        if 1 < waves < 4 and waves / np.ceil(waves) < 0.8:
            losses.append(
                (
                    waves / float(np.ceil(waves)),
                    f"{waves:.1f} waves of blocks: the last leaves the device part empty",
                )
            )
    if block[0] and block[0] < 32 and block[1] > 1:
        losses.append(
            (0.8, f"a {block[0]}×{block[1]} block splits a warp over rows, so that it reads memory in pieces")
        )
    return losses
