"""The quantization run: calibrate, round, build, compare, time beside the best float candidate."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from torch import nn

from gantune.errors import QualityError, StorageError, UnavailableError
from gantune.machine import describe_machine
from gantune.machine.whole_files import write_text
from gantune.measuring import (
    ArtifactSource,
    CheckpointSource,
    ComparisonOptions,
    Subject,
    compare_subjects,
    run_subject,
    tuned_baseline,
)
from gantune.networks.contract import Network
from gantune.optimizing.finetuning import Finetuned, Pupil, finetune
from gantune.optimizing.finetuning_data import Lessons, open_lessons
from gantune.optimizing.latency_bits import keep_float_within_latency
from gantune.optimizing.mixed_bits import choose_mixed
from gantune.optimizing.promote import promote_high_layers
from gantune.optimizing.quantization_candidates import (
    Built,
    Judge,
    Prepared,
    build_artifact,
    build_floats,
    build_integers,
    calibrate_for_engine,
    draw_selection_inputs,
    list_rest_precisions,
    round_to,
)
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.quantization_record import Findings, assemble_quantization, draw_samples
from gantune.optimizing.quantization_source import load_float_network
from gantune.optimizing.revert import choose_observer, revert_worst_layers
from gantune.optimizing.samples import draw_test_inputs
from gantune.optimizing.sensitivity import measure_sensitivity
from gantune.optimizing.verdict import decide_int8
from gantune.records.measurement import Comparison
from gantune.records.quantization import QuantizationReport, SensitivityTable
from gantune.reporting.quantization_page import write_quantization_page, write_sensitivity_page
from gantune.transforms.quantize import LayerBits, quantize

Progress = Callable[[str], None]
_LATENCY_ROUNDS = 5


def quantize_checkpoint(
    path: Path, out: Path, run: QuantizationRun | None = None, *, on_progress: Progress = lambda _: None
) -> QuantizationReport:
    """Quantize the network at `path` and write `report.json`, `report.html` and `artifact/` below `out`.

    `artifact/` holds the integers only where they are at least 1.05 times as fast as the best float
    candidate, else that one. Raise `StorageError` where `out` is taken, `ExportError` where no layer ran as
    integers, `QualityError` where the gate holds for nothing.
    """
    run = run or QuantizationRun()
    refuse_taken(out)
    network = load_float_network(path)
    assert isinstance(network, Network)
    lessons = None if run.finetune is None else open_lessons(path, network, run.finetune)
    threads = run.threads or describe_machine().num_cores
    arrays = draw_test_inputs(network.inputs, seed=run.seed, samples=run.samples, image_size=run.image_size)
    on_progress(f"calibrating on {run.num_samples} samples")
    prepared = choose_layers(calibrate_for_engine(network, run), run, on_progress=on_progress)
    on_progress("running the original on the test inputs")
    original = CheckpointSource(path=path.resolve())
    expected = run_subject(tuned_baseline(original, threads=threads), arrays)
    judge = Judge(arrays, expected, network.output.value_range, threads)
    roundings = {f"{run.scheme.engine}-int8": round_to(prepared, run)}
    everywhere = _promote(prepared, run, on_progress)
    if everywhere is not None:
        roundings[f"{run.scheme.engine}-int8-everywhere"] = round_to(everywhere, run)
    finetuned = None if lessons is None else _finetune(prepared, lessons, run, on_progress)
    if finetuned is not None and finetuned.network is not None:
        roundings[f"{run.scheme.engine}-int8-finetuned"] = finetuned.network
    built = _build_all(network, prepared, roundings, run, out / "candidates", judge, on_progress)
    inside = [candidate for candidate in built if run.is_inside(candidate.quality)]
    on_progress(f"timing the original and {len(inside)} candidates in {run.rounds} rounds")
    comparison = _measure(original, inside, run, threads)
    verdict = decide_int8(
        comparison,
        integers=[candidate.name for candidate in inside if candidate.precision == "int8"],
        floats=[candidate.name for candidate in inside if candidate.precision != "int8"],
        shares={candidate.name: candidate.share or 0.0 for candidate in built},
    )
    record = None if finetuned is None else finetuned.record
    findings = Findings(path, network, prepared, tuple(built), comparison, verdict, run, record)
    report = assemble_quantization(findings)
    kept = next(candidate for candidate in built if candidate.name == verdict.kept)
    shutil.move(kept.folder, out / "artifact")
    shutil.rmtree(out / "candidates")
    write_quantization_page(report, draw_samples(findings, expected), out / "report.html")
    write_text(out / "report.json", report.model_dump_json(indent=1) + "\n")
    return report


def _promote(prepared: Prepared, run: QuantizationRun, on_progress: Progress) -> Prepared | None:
    """Choose the bits of a second candidate, whose first and last layers are integers too."""
    assert prepared.selection is not None
    has_budget = run.has_bit_budget or run.max_latency_ms is not None
    if has_budget or run.finetune is not None or run.scheme.activation_bits is None:
        return None
    inputs = draw_selection_inputs(prepared.network, run)
    selection = promote_high_layers(
        prepared.network, prepared.calibration, inputs, run, prepared.selection, on_progress=on_progress
    )
    return None if selection is None else replace(prepared, selection=selection)


def _finetune(prepared: Prepared, lessons: Lessons, run: QuantizationRun, on_progress: Progress) -> Finetuned:
    """Train with the bits that were asked for: no layer is reverted."""
    assert prepared.selection is not None
    assert run.finetune is not None
    selection = prepared.selection
    scheme = replace(run.scheme, bits=dict(selection.asked), observer=selection.observer)
    rounded = quantize(prepared.network, prepared.calibration, scheme)
    pupil = Pupil(prepared.network, rounded, lessons.discriminator)
    return finetune(pupil, lessons.dataset, run.finetune, run, on_progress=on_progress)


def analyze_checkpoint(
    path: Path, run: QuantizationRun, *, bits: Sequence[int], on_progress: Progress = lambda _: None
) -> SensitivityTable:
    """Measure how sensitive each layer is, on inputs that calibration did not see."""
    network = load_float_network(path)
    on_progress(f"calibrating on {run.num_samples} samples")
    prepared = calibrate_for_engine(network, run)
    inputs = draw_selection_inputs(prepared.network, run)
    return measure_sensitivity(
        prepared.network, prepared.calibration, inputs, bits=bits, options=run.scheme, on_progress=on_progress
    )


def write_analysis(table: SensitivityTable, out: Path) -> None:
    """Write `report.json` and `report.html` below `out`; raise `StorageError` where it is taken."""
    refuse_taken(out)
    out.mkdir(parents=True, exist_ok=True)
    write_sensitivity_page(table, out / "report.html")
    write_text(out / "report.json", table.model_dump_json(indent=1) + "\n")


def choose_layers(
    prepared: Prepared, run: QuantizationRun, *, on_progress: Progress = lambda _: None
) -> Prepared:
    """Choose every layer's bits, and revert the worst layers until the gate holds on selection inputs."""
    on_progress("choosing bits")
    inputs = draw_selection_inputs(prepared.network, run)
    run = choose_mixed(prepared, inputs, run, on_progress=on_progress)
    observer = choose_observer(prepared.network, prepared.calibration, inputs, run)
    run = replace(run, scheme=replace(run.scheme, observer=observer))
    if run.max_latency_ms is not None:
        measure_ms = partial(_time_bits, prepared, run)
        selection = keep_float_within_latency(prepared, inputs, run, measure_ms, on_progress=on_progress)
        return replace(prepared, selection=selection)
    selection = revert_worst_layers(
        prepared.network, prepared.calibration, inputs, run, on_progress=on_progress
    )
    return replace(prepared, selection=selection)


def _time_bits(prepared: Prepared, run: QuantizationRun, bits: Mapping[str, LayerBits]) -> float:
    """Build the network with these bits in its fastest form here, and give its median milliseconds."""
    rounded = quantize(prepared.network, prepared.calibration, replace(run.scheme, bits=dict(bits)))
    threads = run.threads or describe_machine().num_cores
    with tempfile.TemporaryDirectory(prefix="gantune-quantize-") as folder:
        subjects = []
        for rest in list_rest_precisions(run.scheme.engine):
            build_artifact(rounded, run, rest, Path(folder) / rest, threads=threads)
            source = ArtifactSource(directory=Path(folder) / rest, tune_allocator=True)
            subjects.append(Subject(name=rest, source=source, threads=threads))
        options = ComparisonOptions(
            seed=run.seed, image_size=run.image_size, num_rounds=_LATENCY_ROUNDS, baselines=()
        )
        results = compare_subjects(subjects, options).results
    times = [result.measured.latency_ms.p50 for result in results if result.measured is not None]
    if not times:
        reasons = "; ".join(result.reason for result in results)
        raise UnavailableError(f"No form of the integers could be timed, so no latency is known: {reasons}")
    return min(times)


def refuse_taken(out: Path) -> None:
    """Raise `StorageError` where a run folder is a file or holds anything."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise StorageError(f"{out} already exists and is not empty; remove it or name another folder.")


def _build_all(
    network: nn.Module,
    prepared: Prepared,
    roundings: Mapping[str, nn.Module],
    run: QuantizationRun,
    folder: Path,
    judge: Judge,
    on_progress: Progress,
) -> list[Built]:
    built = []
    for stem, rounded in roundings.items():
        for rest in list_rest_precisions(run.scheme.engine):
            name = stem if rest == "fp32" else f"{stem}-{rest}"
            on_progress(f"building {name}")
            built.append(build_integers(rounded, prepared.calibration, run, rest, folder / name, judge))
    floats, failed = build_floats(network, folder, judge, on_progress)
    for name, reason in failed.items():
        on_progress(f"{name} cannot be built: {reason}")
    return [*built, *floats]


def _measure(
    original: CheckpointSource, inside: list[Built], run: QuantizationRun, threads: int
) -> Comparison:
    if not inside:
        raise QualityError(
            f"No candidate reaches {run.min_db:g} dB on the test inputs, the float ones neither; lower the "
            "gate, or calibrate on more samples."
        )
    subjects = [
        Subject(
            name=built.name,
            source=ArtifactSource(directory=built.folder, tune_allocator=True),
            threads=threads,
        )
        for built in inside
    ]
    names = tuple(built.name for built in inside)
    return compare_subjects(
        [tuned_baseline(original, threads=threads), *subjects],
        ComparisonOptions(
            seed=run.seed, image_size=run.image_size, num_rounds=run.rounds, baselines=("tuned", *names)
        ),
    )
