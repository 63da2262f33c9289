"""Put what a quantization run found into its record and its pictures."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import nn

from gantune.machine import describe_machine
from gantune.networks.contract import Network
from gantune.optimizing.quantization_candidates import Built, Prepared
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.verdict import Verdict
from gantune.records.interface import OutputSpec
from gantune.records.measurement import Comparison
from gantune.records.quantization import (
    FinetuneRecord,
    QuantizationReport,
    QuantizedCandidate,
    QuantizedLayerFact,
)
from gantune.reporting import Sample
from gantune.transforms.quantize import FLOAT, Calibration, LayerBits

MAX_SAMPLES = 4


@dataclass(frozen=True)
class Findings:
    """Everything a run knows when it is over."""

    path: Path
    network: nn.Module
    prepared: Prepared
    built: tuple[Built, ...]
    comparison: Comparison
    verdict: Verdict
    run: QuantizationRun
    finetuning: FinetuneRecord | None = None


def assemble_quantization(findings: Findings) -> QuantizationReport:
    """Write the record; the executed precisions are those of the fastest integer candidate."""
    assert isinstance(findings.network, Network)
    selection = findings.prepared.selection
    assert selection is not None
    verdict, run, calibration = findings.verdict, findings.run, findings.prepared.calibration
    integers = [built for built in findings.built if built.executed is not None]
    shown = next((built for built in integers if built.name == verdict.kept), integers[-1])
    sentences = (verdict.sentence, selection.note, _note(findings), _latency_note(findings))
    return QuantizationReport(
        gantune_version=version("gantune"),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=describe_machine(),
        source=findings.path.name,
        family=findings.network.family,
        num_calibration_samples=calibration.num_samples,
        image_error=run.image_error,
        min_db=run.min_db,
        float32_bytes=4 * sum(parameter.numel() for parameter in findings.network.parameters()),
        layers=_describe_layers(calibration, selection.bits, shown.executed or {}),
        candidates=tuple(_describe(built, findings) for built in findings.built),
        best_float=verdict.best_float,
        kept=verdict.kept,
        is_int8_kept=verdict.is_int8_kept,
        verdict=" ".join(part for part in sentences if part),
        finetuning=findings.finetuning,
    )


def _note(findings: Findings) -> str:
    """Say in one sentence what became of fine-tuning."""
    record = findings.finetuning
    if record is None:
        return ""
    if record.stopped is not None:
        return f"Fine-tuning was stopped after {record.num_steps:,} steps and gave nothing: {record.stopped}."
    return (
        f"Fine-tuning took the image error of held-out latents from {_write_db(record.before_db)} to "
        f"{_write_db(record.after_db)} in {record.num_steps:,} steps."
    )


def _latency_note(findings: Findings) -> str:
    """Say in one sentence whether what is kept stays within the latency that was asked for."""
    budget_ms = findings.run.max_latency_ms
    measured = findings.comparison.result(findings.verdict.kept).measured
    if budget_ms is None or measured is None:
        return ""
    took_ms = measured.latency_ms.p50
    word = "within" if took_ms <= budget_ms else "ABOVE"
    return f"It takes {took_ms:.1f} ms, {word} the {budget_ms:g} ms that were asked for."


def _write_db(error_db: float | None) -> str:
    return "identical" if error_db is None else f"{error_db:.1f} dB"


def draw_samples(findings: Findings, expected: NDArray[np.float32]) -> list[Sample]:
    """Pair the first test samples, the original against the fastest integers; none where no image is made."""
    assert isinstance(findings.network, Network)
    output = findings.network.output
    integers = [built for built in findings.built if built.precision == "int8"]
    if output.kind != "image" or expected.shape[1] not in (1, 3) or not integers:
        return []
    shown = next((built for built in integers if built.name == findings.verdict.kept), integers[-1])
    pairs = zip(expected[:MAX_SAMPLES], shown.images[:MAX_SAMPLES], strict=True)
    return [
        Sample(title=f"Test sample {index}", before=_unit(before, output), after=_unit(after, output))
        for index, (before, after) in enumerate(pairs, start=1)
    ]


def _unit(image: NDArray[np.float32], output: OutputSpec) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = (image.transpose(1, 2, 0) - output.low) / output.value_range
    return np.clip(unit, 0, 1).astype(np.float32)


def _describe(built: Built, findings: Findings) -> QuantizedCandidate:
    speedups = findings.comparison.speedups.get(built.name, {})
    result = next((found for found in findings.comparison.results if found.name == built.name), None)
    reason = "" if result is None else result.reason
    if not findings.run.is_inside(built.quality):
        reached = findings.run.error_db(built.quality)
        reason = f"{reached:.1f} dB, below the gate of {findings.run.min_db:g} dB"
    return QuantizedCandidate(
        name=built.name,
        engine=built.engine,
        precision=built.precision,
        size_bytes=built.size_bytes,
        latency_ms=None if result is None or result.measured is None else result.measured.latency_ms,
        quality=built.quality,
        speedup_tuned=speedups.get("tuned"),
        speedup_best_float=speedups.get(findings.verdict.best_float),
        integer_macs_share=built.share,
        reason=reason,
    )


def _describe_layers(
    calibration: Calibration, bits: Mapping[str, LayerBits], executed: Mapping[str, str]
) -> tuple[QuantizedLayerFact, ...]:
    return tuple(
        QuantizedLayerFact(
            name=name,
            kind=record.kind,
            macs=record.macs,
            weight_bits=bits.get(name, FLOAT).weights,
            activation_bits=bits.get(name, FLOAT).activations,
            executed=executed.get(name, "not found"),
        )
        for name, record in calibration.layers.items()
    )
