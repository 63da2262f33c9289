"""Profile inference: layers, operators, memory, and remedies tried in fresh processes."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch

from gantune.checkpoints import load
from gantune.errors import ScriptError
from gantune.machine import describe_machine
from gantune.measuring import ComparisonOptions
from gantune.measuring.form_fallbacks import gather_fallbacks
from gantune.measuring.roofline import measure_roofline
from gantune.networks.contract import Network, sample_tensors
from gantune.ops import use_implementation
from gantune.profiling.capture import capture_calls
from gantune.profiling.findings import rank
from gantune.profiling.findings.batch_size import GROWTH
from gantune.profiling.findings.conclusion import conclude, percent
from gantune.profiling.layer_profile import profile_layers
from gantune.profiling.observation import ProcessCounters
from gantune.profiling.remedies import AS_IS, MIN_GAIN, Remedy, Trial, try_larger_batch, try_remedies
from gantune.profiling.scene import Scene, see
from gantune.profiling.summary import summarize
from gantune.records.candidate import Interval, Measurement
from gantune.records.profile import (
    CallTimes,
    Evidence,
    ExpectedGain,
    Finding,
    LayerProfile,
    Profile,
    Roofline,
)
from gantune.reporting.fallback_text import fallback_text


@dataclass(frozen=True, kw_only=True)
class NetworkProfileOptions:
    """Say how to profile: `threads` None means all cores; remedies are tried unless `is_tried` is False."""

    threads: int | None = None
    batch_size: int = 1
    image_size: int = 64
    seed: int = 0
    num_rounds: int = 9
    is_tried: bool = True


def profile_network(path: Path, options: NetworkProfileOptions, *, command: str) -> tuple[Profile, Scene]:
    """Profile the generator of a checkpoint as its users have it: float32, reference operations.

    Raises `CheckpointError` for a refused file and `ScriptError` where the network cannot run.
    """
    machine = describe_machine()
    threads = options.threads or machine.num_cores
    network = load(path)
    inputs = sample_tensors(
        cast(Network, network).inputs, options.batch_size, options.seed, image_size=options.image_size
    )
    compared = _compare_as(options)
    trial = try_remedies(
        path,
        threads=threads,
        num_cores=machine.num_cores,
        instruction_sets=machine.instruction_sets,
        options=compared,
        is_tried=options.is_tried,
    )
    measured = _measured(trial)
    torch.set_num_threads(threads)
    with use_implementation("reference"):
        roofline = measure_roofline()
        layers = profile_layers(network, inputs, roofline)
        trace = capture_calls(lambda: network(**inputs))
    counters = ProcessCounters(
        minor_faults=measured.minor_faults,
        threads=threads,
        num_cores=machine.num_cores,
        batch_size=options.batch_size,
        as_is_ms=measured.latency_ms.p50,
    )
    scene = see(trace, counters)
    found = summarize(scene, source=path.name, command=command)
    findings = with_measured_gains(bound_by_roofline(found.findings, layers, roofline), trial)
    if options.is_tried and any(finding.kind == "batch_size" for finding in findings):
        gain = try_larger_batch(path, threads=threads, options=compared, growth=GROWTH)
        findings = with_batch_gain(findings, gain)
    profiled_ms = found.window_ms / max(found.num_steps, 1)
    profile = found.model_copy(
        update={
            "subject": "network",
            "framework": f"PyTorch {torch.__version__}",
            "machine": machine,
            "layers": layers,
            "roofline": roofline,
            "findings": findings,
            "calls": CallTimes(
                load_ms=measured.load_ms,
                first_ms=measured.first_call_ms,
                steady_ms=measured.latency_ms.p50,
                minor_faults=measured.minor_faults,
                overhead=profiled_ms / measured.latency_ms.p50 - 1,
            ),
            "warnings": (*found.warnings, *warn_of_fallbacks(trial)),
        }
    )
    return profile, scene


def _compare_as(options: NetworkProfileOptions) -> ComparisonOptions:
    return ComparisonOptions(
        batch_size=options.batch_size,
        seed=options.seed,
        image_size=options.image_size,
        num_rounds=options.num_rounds,
        baselines=(AS_IS,),
    )


def bound_by_roofline(
    findings: tuple[Finding, ...], layers: tuple[LayerProfile, ...], roofline: Roofline
) -> tuple[Finding, ...]:
    """Bound what speeding up dense operators can bring by what this machine was measured to reach.

    That is its speed in float32, or in bfloat16 where that is faster.
    """
    dense = [layer for layer in layers if layer.macs and layer.roofline_share is not None]
    dense_ms = sum(layer.time_ms for layer in dense)
    reached = (
        sum(layer.time_ms * (layer.roofline_share or 0.0) for layer in dense) / dense_ms if dense else 0.0
    )
    factor = max(1.0, roofline.bfloat16_speedup or 1.0)
    bounded = []
    for finding in findings:
        if finding.kind == "dominant_operator" and finding.share and dense:
            least = min(1.0, reached / factor)
            gain = ExpectedGain(low=1.0, high=max(1.0, 1 / (1 - finding.share * (1 - least))))
            text = f"Dense layers reach {percent(reached)} of this machine's measured float32 speed."
            if roofline.bfloat16_speedup is not None:
                text += f" In bfloat16 it was measured to be {roofline.bfloat16_speedup:.1f} times as fast."
            evidence = (*finding.evidence, Evidence(text=text))
            finding = finding.model_copy(update={"expected_gain": gain, "evidence": evidence})
        bounded.append(finding)
    return tuple(bounded)


def with_measured_gains(findings: tuple[Finding, ...], trial: Trial) -> tuple[Finding, ...]:
    """Put measured gains into findings, and add those that only trying could show.

    A remedy that was tried and brought nothing takes its finding's confidence down to low.
    """
    by_kind = {finding.kind: finding for finding in findings}
    for remedy in trial.remedies:
        gain = trial.gain(remedy)
        if gain is None:
            continue
        known = by_kind.get(remedy.kind)
        if known is not None and (known.measured_gain is None or gain.median > known.measured_gain.median):
            by_kind[remedy.kind] = _confirm(known, remedy, gain)
        elif known is None and gain.low > MIN_GAIN and remedy.kind != "dominant_operator":
            by_kind[remedy.kind] = _conclude_from_trial(remedy, gain)
    if len(by_kind) > 1:
        by_kind.pop("nothing_to_mend", None)
    return rank(list(by_kind.values()))


def with_batch_gain(findings: tuple[Finding, ...], gain: Interval | None) -> tuple[Finding, ...]:
    """Put what a larger batch gained into the finding that asks for one."""
    if gain is None:
        return findings
    evidence = Evidence(text=f"Tried here with {GROWTH} times the batch: {_say(gain)} an image.")
    return tuple(
        one.model_copy(update={"measured_gain": gain, "evidence": (*one.evidence, evidence)})
        if one.kind == "batch_size"
        else one
        for one in findings
    )


def _confirm(finding: Finding, remedy: Remedy, gain: Interval) -> Finding:
    evidence = Evidence(text=f"Tried here alone ({remedy.name}): {_say(gain)}.")
    return finding.model_copy(
        update={
            "measured_gain": gain,
            "evidence": (*finding.evidence, evidence),
            "confidence": "high" if gain.low > MIN_GAIN else "low",
            "share": finding.share if gain.low <= 1 else 1 - 1 / gain.median,
        }
    )


def _conclude_from_trial(remedy: Remedy, gain: Interval) -> Finding:
    share = 1 - 1 / gain.median
    text = f"Tried here alone ({remedy.name}): {_say(gain)}, which is {percent(share)} of the time."
    found = conclude(
        remedy.kind, share, evidence=(Evidence(text=text),), confidence="high", remedy=remedy.advice
    )
    return found.model_copy(update={"measured_gain": gain})


def _say(gain: Interval) -> str:
    return f"{gain.median:.2f}× ({gain.low:.2f} to {gain.high:.2f}) as fast"


def warn_of_fallbacks(trial: Trial) -> tuple[str, ...]:
    """Say which slower forms of operations ran while remedies were tried, one sentence each."""
    taken = gather_fallbacks((result.name, result.fallbacks) for result in trial.comparison.results)
    return tuple(fallback_text(fallback) for fallback in taken)


def _measured(trial: Trial) -> Measurement:
    result = trial.comparison.result(AS_IS)
    if result.measured is None:
        raise ScriptError(f"The network could not be run: {result.reason}. Check it with gantune inspect.")
    return result.measured
