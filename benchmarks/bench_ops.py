"""`make bench-ops`: the native operations against their reference forms, and against the machine's roofline.

Runs with the tuned allocator, in a process of its own. The forms take turns in rotated order, round by round,
and ratios are paired by round. Results are compared before any time is shown.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
from publish import publish
from torch import Tensor

from gantune import ops
from gantune.machine import TUNED_ALLOCATOR, child_environment
from gantune.measuring import bootstrap_median
from gantune.measuring.latency import time_call
from gantune.measuring.roofline import measure_roofline
from gantune.ops.bias_act.cost import bias_act_cost
from gantune.ops.bias_act.options import parse_options as bias_act_options
from gantune.ops.filtered_lrelu.cost import filtered_lrelu_cost
from gantune.ops.filtered_lrelu.options import parse_options as filtered_lrelu_options
from gantune.ops.operation_cost import OperationCost
from gantune.ops.upfirdn2d.cost import upfirdn2d_cost
from gantune.ops.upfirdn2d.options import parse_options as upfirdn2d_options
from gantune.records.figures import Figure
from gantune.records.profile import Roofline

THREADS = 2
ROUNDS = 15
PARITY = 1e-5
COPY_SHARE_BAR = 0.8
Run = Callable[[Tensor, str], Tensor]


@dataclass(frozen=True)
class Subject:
    """One call of an operation, what it costs at least, and the multiple of the reference it has to reach."""

    name: str
    x: Tensor
    run: Run
    cost: OperationCost
    bar: float | None


def shape_of(x: Tensor) -> tuple[int, int, int, int]:
    N, C, H, W = x.shape
    return N, C, H, W


def lowpass(taps: int) -> Tensor:
    return ops.setup_filter(torch.kaiser_window(taps, periodic=False, beta=6.0))


def filtered_lrelu_subject(
    channels: int, size: int, up: int, padding: list[int], bar: float | None
) -> Subject:
    x, b = torch.randn(1, channels, size, size), torch.randn(channels)
    fu, fd = lowpass(6 * up), lowpass(12)
    options = filtered_lrelu_options(up, 2, padding, gain=2**0.5, slope=0.2, clamp=256.0, flip_filter=False)

    def run(x: Tensor, form: str) -> Tensor:
        return ops.filtered_lrelu(
            x, fu, fd, b, up=up, down=2, padding=padding, clamp=256, implementation=form
        )

    name = f"filtered_lrelu {channels}×{size}², up {up}, {6 * up} taps, down 2, 12 taps"
    cost = filtered_lrelu_cost(shape_of(x), (6 * up,), (12,), options, has_bias=True)
    return Subject(name, x, run, cost, bar)


def upfirdn2d_subject(name: str, up: int, down: int, padding: list[int], bar: float) -> Subject:
    x, f = torch.randn(1, 128, 256, 256), ops.setup_filter([1, 3, 3, 1])

    def run(x: Tensor, form: str) -> Tensor:
        return ops.upfirdn2d(x, f, up, down, padding, gain=up * up, implementation=form)

    options = upfirdn2d_options(up, down, padding, flip_filter=False, gain=1.0)
    # The kernels split the outer product, so the separable cost is the least.
    return Subject(name, x, run, upfirdn2d_cost(shape_of(x), (4,), options), bar)


def bias_act_subject() -> Subject:
    x, b = torch.randn(1, 128, 256, 256), torch.randn(128)

    def run(x: Tensor, form: str) -> Tensor:
        return ops.bias_act(x, b, act="lrelu", clamp=256, implementation=form)

    cost = bias_act_cost(shape_of(x), bias_act_options(1, "lrelu", None, None, 256.0), has_bias=True)
    return Subject("bias_act lrelu and clamp 128×256²", x, run, cost, None)


def subjects() -> list[Subject]:
    return [
        filtered_lrelu_subject(512, 54, 2, [9, 10, 9, 10], 10),
        filtered_lrelu_subject(362, 86, 4, [20, 19, 20, 19], 19),
        filtered_lrelu_subject(91, 278, 2, [9, 10, 9, 10], 22),
        upfirdn2d_subject("upfirdn2d up 2, 4 taps, 128×256²", 2, 1, [2, 1, 2, 1], 9),
        upfirdn2d_subject("upfirdn2d down 2, 4 taps, 128×256²", 1, 2, [1, 1, 1, 1], 9),
        bias_act_subject(),
    ]


def parity_row(subject: Subject) -> Figure:
    expected = subject.run(subject.x, "reference")
    error = ((subject.run(subject.x, "native") - expected).abs().max() / expected.abs().max()).item()
    return Figure(
        name=f"{subject.name}: largest difference from the reference",
        value=error,
        unit="",
        bar=f"≤ {PARITY:g}",
        met=error <= PARITY,
        how="float32, relative to the largest value of the reference",
    )


def speed_rows(subject: Subject, roofline: Roofline, *, num_rounds: int) -> list[Figure]:
    x = subject.x
    half = x.contiguous(memory_format=torch.channels_last).to(torch.bfloat16)
    source, target = torch.empty_like(x), torch.empty_like(x)
    calls: dict[str, Callable[[], object]] = {
        "reference": lambda: subject.run(x, "reference"),
        "native": lambda: subject.run(x, "native"),
        "portable": lambda: subject.run(x, "portable"),
        "native, bfloat16 channels-last": lambda: subject.run(half, "native"),
        "copy": lambda: target.copy_(source),
    }
    for call in calls.values():
        call()
    rounds = [time_round(calls, first=index) for index in range(num_rounds)]
    how = f"paired over {num_rounds} interleaved rounds, tuned allocator, {THREADS} threads, batch 1"
    rows = [
        ratio_row(f"{subject.name}: {name}", [one["reference"] / one[name] for one in rounds], bar, how)
        for name, bar in (
            ("native", subject.bar),
            ("native, bfloat16 channels-last", None),
            ("portable", None),
        )
    ]
    times = bootstrap_median([one["native"] for one in rounds])
    fastest = subject.cost.fastest_ms(
        flops_per_s=roofline.convolution_gflops * 1e9, bytes_per_s=roofline.copy_gb_s * 1e9
    )
    work = f"{subject.cost.flops / 1e9:.2f} GFLOP and {subject.cost.moved_bytes / 1e6:.0f} MB"
    limits = f"{roofline.convolution_gflops:.0f} GFLOP/s and {roofline.copy_gb_s:.1f} GB/s, as measured"
    rows.append(
        Figure(
            name=f"{subject.name}: native time",
            value=times.median,
            unit="ms",
            low=times.low,
            high=times.high,
            how=how,
        )
    )
    rows.append(
        Figure(
            name=f"{subject.name}: share of the roofline",
            value=fastest / times.median,
            unit="",
            how=f"{fastest:.2f} ms for {work} at {limits}",
        )
    )
    if subject.name.startswith("bias_act"):
        share = [one["copy"] / one["native"] for one in rounds]
        rows.append(ratio_row(f"{subject.name}: share of copy bandwidth", share, COPY_SHARE_BAR, how))
    return rows


def time_round(calls: dict[str, Callable[[], object]], *, first: int) -> dict[str, float]:
    """Time every call once, from call number `first` on: what one leaves in the caches meets all alike."""
    names = list(calls)
    shift = first % len(names)
    return {name: time_call(calls[name]) for name in (*names[shift:], *names[:shift])}


def ratio_row(name: str, ratios: list[float], bar: float | None, how: str) -> Figure:
    interval = bootstrap_median(ratios)
    return Figure(
        name=name,
        value=interval.median,
        unit="×",
        low=interval.low,
        high=interval.high,
        bar=None if bar is None else f"≥ {bar:g}",
        met=None if bar is None else interval.median >= bar,
        how=how,
    )


def measure(*, num_rounds: int) -> int:
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    rows = []
    with torch.no_grad():
        roofline = measure_roofline()
        for subject in subjects():
            parity = parity_row(subject)
            rows.append(parity)
            if parity.met:
                rows += speed_rows(subject, roofline, num_rounds=num_rounds)
    return publish("bench-ops", rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    if all(os.environ.get(name) == value for name, value in TUNED_ALLOCATOR.items()):
        return measure(num_rounds=rounds)
    environment = child_environment(TUNED_ALLOCATOR)
    return subprocess.run([sys.executable, __file__, "--rounds", str(rounds)], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
