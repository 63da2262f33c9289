"""A realistic report with made-up numbers."""

from itertools import pairwise

import numpy as np

from gantune.records.candidate import (
    Baseline,
    Candidate,
    ImageQuality,
    Interval,
    Latency,
    Measurement,
    Status,
)
from gantune.records.machine import Machine
from gantune.records.plan import Decision, Plan, PlannedCandidate, Step
from gantune.records.report import (
    Energy,
    ExtremeCheck,
    LayerTime,
    NetworkSummary,
    Report,
    SpectrumCurve,
)
from gantune.records.score import BandLoss
from gantune.records.search import Change, Search
from gantune.reporting import fill_checklist

MIB = 2**20


def measurement(p50_ms: float, peak_mib: float) -> Measurement:
    return Measurement(
        latency_ms=Latency(p50=p50_ms, p90=p50_ms * 1.06, mean=p50_ms * 1.01, n=60),
        throughput_images_s=1000 / p50_ms,
        peak_bytes=int(peak_mib * MIB),
        minor_faults=12.0,
        load_ms=412.0,
        first_call_ms=p50_ms * 3,
    )


def quality(psnr_db: float | None, *, is_exact: bool = False) -> ImageQuality:
    error = 0.0 if psnr_db is None else 2 * 10 ** (-psnr_db / 20)
    return ImageQuality(
        psnr_db=psnr_db,
        snr_db=psnr_db,
        identical=psnr_db is None,
        ssim=1.0 if psnr_db is None else 1 - error**2 / 3,
        max_abs=error * 5,
        is_exact=is_exact,
        spectrum_db=0.0 if psnr_db is None else 0.08,
        psnr_range=None
        if psnr_db is None
        else Interval(median=psnr_db, low=psnr_db - 1.4, high=psnr_db + 1.1),
        snr_range=None
        if psnr_db is None
        else Interval(median=psnr_db, low=psnr_db - 1.4, high=psnr_db + 1.1),
        ssim_range=None if psnr_db is None else Interval(median=0.99, low=0.9871, high=0.9932),
        frechet=None if psnr_db is None else 12.75,
        frechet_loss=None if psnr_db is None else 0.0131,
    )


def around(median: float) -> Interval:
    return Interval(median=median, low=median * 0.97, high=median * 1.04)


def candidate(
    name: str, p50_ms: float, psnr_db: float | None, status: Status, reason: str, *, peak_mib: float = 640
) -> Candidate:
    engine, precision = name.split(" ")[0], name.split(" ")[1]
    measured = measurement(p50_ms, peak_mib)
    return Candidate(
        name=name,
        engine=engine,
        plan=(
            Step(kind="transform", name="freeze"),
            Step(kind="transform", name="static_modulation"),
            Step(kind="transform", name="resampling", options={"form": "transposed"}),
            Step(kind="environment", name="allocator", options={"tuned": True}),
            Step(kind="export", name="onnx", options={"opset": 20}),
        ),
        why="Convolutions dominate, and this CPU has BF16 instructions.",
        measured=measured,
        latency_ms=measured.latency_ms,
        throughput_images_s=measured.throughput_images_s,
        peak_bytes=measured.peak_bytes,
        size_bytes=58 * MIB,
        speedup_as_is=around(1834.2 / p50_ms),
        speedup_tuned=around(668.4 / p50_ms),
        quality=quality(psnr_db, is_exact=psnr_db is not None and psnr_db > 90),
        precision_used=precision,
        status=status,
        reason=reason,
    )


def candidates() -> tuple[Candidate, ...]:
    return (
        candidate("torch fp32 channels-last", 441.8, 112.4, "kept", "1.51× and exact"),
        candidate("torch bf16 convolutions", 258.6, 49.7, "kept", "2.58× at 49.7 dB", peak_mib=675),
        candidate("openvino fp32", 371.3, 108.9, "kept", "1.80× and exact", peak_mib=1540),
        candidate(
            "openvino bf16 convolutions, float32 filters",
            196.4,
            46.3,
            "kept",
            "3.40× at 46.3 dB",
            peak_mib=1180,
        ),
        candidate(
            "openvino bf16", 203.9, 31.2, "rejected", "image error 31.2 dB is below 40 dB", peak_mib=1210
        ),
        candidate("onnxruntime fp32", 661.5, 110.2, "rejected", "1.01× (0.98–1.05): not faster than 1.05×"),
        Candidate(
            name="torch_compile fp32",
            engine="torch_compile",
            plan=(Step(kind="engine", name="torch_compile"),),
            why="Element-wise work between the convolutions could be fused.",
            status="failed",
            reason="The compiler ended with exit code 1: no C++ compiler was found on this machine",
        ),
    )


def plan() -> Plan:
    steps = candidates()[0].plan
    tried = [
        PlannedCandidate(name=one.name, engine=one.engine, precision="fp32", steps=steps, why=one.why)
        for one in candidates()
    ]
    skipped = PlannedCandidate(
        name="openvino fp16",
        engine="openvino",
        precision="fp16",
        steps=(),
        why="This CPU has no FP16 arithmetic: half precision would be emulated.",
        is_skipped=True,
    )
    return Plan(
        source="stylegan2-ffhq-1024.pkl",
        source_sha256="3b0c" * 16,
        family="stylegan2",
        target="cpu",
        goal="latency",
        seed=0,
        batch=1,
        threads=2,
        image_size=64,
        rounds=15,
        precision="auto",
        budget={"min_psnr_db": 40.0, "max_latency_ms": 400.0},
        data="photographs",
        branch="utmost-speed",
        decisions=(
            Decision(
                question="Where will it run?",
                answer="on a CPU like this one",
                because="--target cpu",
                others=("on many platforms", "on an NVIDIA GPU", "on an edge device"),
            ),
            Decision(
                question="What must shrink?",
                answer="time",
                because="the goal is latency, and nothing bounds memory or size",
                others=("memory or size",),
            ),
            Decision(
                question="Must the pictures stay exact?",
                answer="inside a budget",
                because="the budget allows a loss: min psnr db 40",
                others=("exact",),
            ),
        ),
        candidates=(*tried, skipped),
    )


def spectra() -> tuple[SpectrumCurve, ...]:
    frequency = np.linspace(0, 0.5, 64)
    power = 62 - 95 * frequency**0.45 + 0.4 * np.sin(40 * frequency)
    changed = power + 0.08 * (frequency / 0.5) ** 4 - 0.02 * np.sin(25 * frequency)
    return (
        SpectrumCurve(name="original", frequency=tuple(frequency), power_db=tuple(power)),
        SpectrumCurve(name="openvino bf16 convolutions", frequency=tuple(frequency), power_db=tuple(changed)),
    )


def search() -> Search:
    return Search(
        num_built=9,
        num_reused=2,
        stopped={"openvino bf16": "stopped after 3 rounds: image error 31.2 dB is below 40 dB"},
        changes=(
            Change(
                name="half-threads",
                candidate="openvino bf16 convolutions, float32 filters+half-threads",
                why="small layers wait for each other's threads more than they gain",
                gain=Interval(median=0.61, low=0.58, high=0.64),
                is_kept=False,
                reason="undone: 0.61× (0.58 to 0.64) the leader before it",
                bottleneck_before="Convolution layers take 71% of the time; b1024.conv0 takes 22%.",
            ),
            Change(
                name="subpixel",
                candidate="openvino bf16 convolutions, float32 filters+subpixel",
                why="up-sampling as four plain convolutions, which the engine may run better",
                gain=Interval(median=1.08, low=1.05, high=1.11),
                is_kept=True,
                reason="kept: 1.08× (1.05 to 1.11) the leader before it",
                bottleneck_before="Convolution layers take 71% of the time; b1024.conv0 takes 22%.",
                bottleneck_after="Convolution layers take 68% of the time; b1024.conv1 takes 19%.",
            ),
        ),
        end="2 changes in a row gained under 2 %",
    )


def bands() -> tuple[BandLoss, ...]:
    edges = (0.0, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
    return tuple(
        BandLoss(
            low_frequency=low, high_frequency=high, power_change_db=0.01 * index, error_db=-60.0 + 6 * index
        )
        for index, (low, high) in enumerate(pairwise(edges))
    )


def layers() -> tuple[LayerTime, ...]:
    blocks = [(f"synthesis.b{2**power}.conv{i}", power, i) for power in range(2, 11) for i in (0, 1)]
    times = [3.0 + 13.5 * (power - 1.6) * (1.6 - i) for _, power, i in blocks]
    return tuple(
        LayerTime(
            name=name,
            kind="modulated convolution, up 2" if i == 0 else "modulated convolution",
            time_ms=time_ms,
            share=time_ms / sum(times),
            macs=int(4e9),
        )
        for (name, _, i), time_ms in zip(blocks, times, strict=True)
    )


def make_report() -> Report:
    """Make a whole report of a run that kept several candidates."""
    tried = candidates()
    filled = Report(
        gantune_version="0.1.0",
        created="2026-11-30T12:20:00+01:00",
        command="gantune optimize stylegan2-ffhq-1024.pkl --target cpu --out runs/ffhq",
        machine=Machine(
            processor="AMD EPYC 9R14",
            architecture="x86_64",
            num_cores=2,
            instruction_sets=("avx2", "avx512f", "avx512_vnni", "avx512_bf16"),
            memory_bytes=33_285_996_544,
            operating_system="Linux 6.1",
            c_library="glibc 2.36",
            python="3.11.7",
            allocator="glibc",
            libraries={"torch": "2.13.0", "onnxruntime": "1.32.0", "openvino": "2026.4.1"},
            environment={},
        ),
        network=NetworkSummary(
            source="stylegan2-ffhq-1024.pkl",
            source_sha256="3b0c" * 16,
            format="nvidia-pickle",
            family="stylegan2",
            facts={"resolution": 1024, "z_dim": 512, "c_dim": 0, "num_ws": 18, "is_ema": True},
            num_parameters=30_370_060,
            macs=74_300_000_000,
            float32_bytes=121_480_240,
        ),
        plan=plan(),
        image_error="range",
        layers=layers(),
        bottleneck="Page faults of the default allocator cost 64 % of an image, convolutions 26 %.",
        baselines={
            "as_is": Baseline(
                name="as_is",
                description="eager, default allocator",
                environment={},
                measured=measurement(1834.2, 1180),
                size_bytes=121_480_240,
            ),
            "tuned": Baseline(
                name="tuned",
                description="eager, tuned allocator",
                environment={"MALLOC_MMAP_THRESHOLD_": "8000000000"},
                measured=measurement(668.4, 1790),
                size_bytes=121_480_240,
            ),
        },
        candidates=tried,
        best=tried[3],
        verdict="OpenVINO with bf16 convolutions and float32 filters is the fastest inside the budget.",
        spectra=spectra(),
        extremes=(
            ExtremeCheck(name="psi 0", is_finite=True, psnr_db=51.8, snr_db=51.8),
            ExtremeCheck(name="psi 1.5", is_finite=True, psnr_db=41.2, snr_db=41.2),
            ExtremeCheck(name="z = 0", is_finite=True, psnr_db=None, snr_db=None),
        ),
        search=search(),
        bands=bands(),
        energy=(
            Energy(subject="tuned", joules_an_image=38.4, source="RAPL, processor packages"),
            Energy(subject="openvino bf16", reason="not available: the counter may be read by root alone"),
        ),
        first_divergence="synthesis.b64.conv0 (38.9 dB at its output)",
    )
    return filled.model_copy(update={"checklist": fill_checklist(filled)})
