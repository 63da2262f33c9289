"""`make bench`: every official-size network against its reference form and against its plain ONNX exports."""

import argparse
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from official import OFFICIAL, write_official
from plain_export import export_plainly
from publish import publish

from gantune.backends import BACKENDS
from gantune.checkpoints import load
from gantune.machine import describe_machine
from gantune.measuring import (
    ArtifactSource,
    CheckpointSource,
    ComparisonOptions,
    Subject,
    as_is_baseline,
    compare_subjects,
    run_subject,
    tuned_baseline,
)
from gantune.networks.contract import Network
from gantune.optimizing.build import build_candidate
from gantune.optimizing.planner import Situation, plan_candidates
from gantune.optimizing.samples import draw_test_inputs
from gantune.quality.paired import compare_images
from gantune.records.candidate import ImageQuality, Interval
from gantune.records.figures import Figure
from gantune.records.measurement import Comparison
from gantune.records.plan import PlannedCandidate

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "bench"
THREADS = 2
ROUNDS = 15
BATCH = 8
PARITY_SAMPLES = 2
PLAIN = (("onnxruntime", "fp32"), ("openvino", "fp32"), ("openvino", "bf16"))


@dataclass(frozen=True)
class Bars:
    """What a network has to reach, as multiples; `db` is the image error allowed to the fast form.

    `memory` is the most that its peak may be of the tuned original's.
    """

    exact: float | None = None
    fast: float | None = None
    db: float = 40.0
    as_is: float | None = None
    memory: float | None = None
    beats_plain: bool = False


BARS = {
    "stylegan2-256": Bars(exact=1.6, fast=3.2, db=45, beats_plain=True),
    "stylegan2-1024": Bars(exact=1.5, fast=3.0, db=44, as_is=8, memory=0.57, beats_plain=True),
    "stylegan3-t-256": Bars(exact=2.6, fast=3.3, db=50, as_is=12, memory=0.5, beats_plain=True),
    "srvgg-x4": Bars(fast=2.0, db=40),
}


@dataclass(frozen=True)
class Entry:
    """One built candidate with the parity figures that allow it a speed."""

    planned: PlannedCandidate
    subject: Subject
    quality: ImageQuality

    def error_db(self, name: str) -> float:
        """Give the image error: PSNR for the trained network, SNR for those with random weights."""
        value = self.quality.psnr_db if name == "srvgg-x4" else self.quality.snr_db
        return float("inf") if self.quality.identical or value is None else value


def main() -> int:
    """Measure the networks named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", choices=[*BARS, []], help="which networks (default: all)")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    rows: list[Figure] = []
    for name in arguments.networks or list(BARS):
        print(f"{name}: building", file=sys.stderr)
        rows += measure_network(name, rounds=arguments.rounds)
    return publish("bench", rows)


def measure_network(name: str, *, rounds: int) -> list[Figure]:
    """Build every candidate, check parity, then time all of them beside both baselines in the same rounds."""
    checkpoint = find_checkpoint(name)
    source = CheckpointSource(path=checkpoint)
    size = 128
    with tempfile.TemporaryDirectory(prefix="gantune-bench-") as folder:
        entries = build_entries(name, checkpoint, source, Path(folder), size=size)
        plain = plain_subjects(name, checkpoint, size=size) if BARS[name].beats_plain else []
        baselines = [as_is_baseline(source, threads=THREADS), tuned_baseline(source, threads=THREADS)]
        comparison = compare_subjects(
            [*baselines, *(entry.subject for entry in entries), *plain],
            ComparisonOptions(
                num_rounds=rounds,
                image_size=size,
                baselines=("as_is", "tuned", *(subject.name for subject in plain)),
            ),
        )
        print_details(name, comparison, entries)
        fast = best_entry(comparison, [e for e in entries if e.error_db(name) >= BARS[name].db])
        exact = best_entry(comparison, [entry for entry in entries if entry.quality.is_exact])
        rows = speed_rows(name, comparison, exact, fast)
        rows += memory_rows(name, comparison, fast)
        rows += plain_rows(name, comparison, exact, [e for e in entries if e.error_db(name) >= BARS[name].db])
        rows += throughput_rows(name, baselines[1], fast, size=size)
    return rows


def find_checkpoint(name: str) -> Path:
    """Name the network's file: a real one for super-resolution, random weights for the others."""
    if name == "srvgg-x4":
        return ROOT / ".cache" / "real" / "srvgg-x4-animevideo.param"
    official = next(official for official in OFFICIAL if official.name == name)
    return write_official(official, CACHE)


def build_entries(
    name: str, checkpoint: Path, source: CheckpointSource, folder: Path, *, size: int
) -> list[Entry]:
    """Build what the planner proposes; a candidate without parity figures gets no speed."""
    network = load(checkpoint)
    assert isinstance(network, Network)
    photographs = ROOT / ".cache" / "real" if name == "srvgg-x4" else None
    arrays = draw_test_inputs(network.inputs, seed=1, samples=photographs, image_size=size)
    arrays = {key: array[:PARITY_SAMPLES] if array.ndim else array for key, array in arrays.items()}
    expected = run_subject(tuned_baseline(source, threads=THREADS), arrays)
    situation = Situation(
        family=network.family, target="cpu", goal="latency", precision="any",
        instruction_sets=tuple(describe_machine().instruction_sets),
        engines=tuple(backend.name for backend in BACKENDS if backend.is_available()),
    )  # fmt: skip
    entries = []
    for planned in plan_candidates(situation, BACKENDS):
        if planned.is_skipped:
            continue
        result = build_candidate(network, planned, folder / planned.name, threads=THREADS)
        if result.status == "failed":
            print(f"{name} {planned.name}: {result.reason}", file=sys.stderr)
            continue
        subject = Subject(
            name=planned.name,
            source=ArtifactSource(directory=folder / planned.name, tune_allocator=True),
            threads=THREADS,
        )
        images = run_subject(subject, arrays)
        quality = compare_images(images, expected, value_range=network.output.value_range)
        entries.append(Entry(planned, subject, quality))
    return entries


def plain_subjects(name: str, checkpoint: Path, *, size: int) -> list[Subject]:
    """Export the reference form as it stands for each engine and precision."""
    subjects = []
    for engine, precision in PLAIN:
        folder = CACHE / f"{name}-plain-{engine}-{precision}"
        if folder.exists():
            shutil.rmtree(folder)
        export_plainly(checkpoint, folder, engine=engine, precision=precision, size=size)  # type: ignore[arg-type]
        subjects.append(
            Subject(
                name=f"plain-{engine}-{precision}",
                source=ArtifactSource(directory=folder, tune_allocator=True),
                threads=THREADS,
            )
        )
    return subjects


def best_entry(comparison: Comparison, entries: list[Entry]) -> Entry | None:
    """Pick the entry with the highest median speedup over the tuned original."""
    timed = [entry for entry in entries if "tuned" in comparison.speedups.get(entry.subject.name, {})]
    return max(timed, key=lambda entry: comparison.speedups[entry.subject.name]["tuned"].median, default=None)


def speed_rows(name: str, comparison: Comparison, exact: Entry | None, fast: Entry | None) -> list[Figure]:
    """Write the rows against both baselines."""
    bars = BARS[name]
    rows = []
    for words, entry, baseline, bar in (
        (f"{name} exact, against tuned", exact, "tuned", bars.exact),
        (f"{name} at ≥ {bars.db:g} dB, against tuned", fast, "tuned", bars.fast),
        (f"{name} at ≥ {bars.db:g} dB, against as is", fast, "as_is", bars.as_is),
    ):
        if entry is None:
            rows.append(
                Figure(name=words, value=None, unit="×", bar=write_bar(bar), met=False, how="no candidate")
            )
            continue
        speedup = comparison.speedups[entry.subject.name][baseline]
        how = f"{entry.planned.name}, {entry.error_db(name):.1f} dB, {comparison.num_rounds} rounds"
        rows.append(speed_figure(words, speedup, bar, how))
    return rows


def memory_rows(name: str, comparison: Comparison, fast: Entry | None) -> list[Figure]:
    """Write the fast form's peak of resident memory against the tuned original's."""
    peaks = {
        result.name: result.measured.peak_bytes / 2**20
        for result in comparison.results
        if result.measured is not None
    }
    if fast is None or not {fast.subject.name, "tuned"} <= set(peaks):
        return []
    own, tuned, bar = peaks[fast.subject.name], peaks["tuned"], BARS[name].memory
    how = f"{fast.planned.name}: {own:.0f} MiB; tuned: {tuned:.0f} MiB; as is: {peaks['as_is']:.0f} MiB"
    return [
        Figure(
            name=f"{name} at ≥ {BARS[name].db:g} dB, peak memory of the tuned original's",
            value=own / tuned, unit="×", bar=None if bar is None else f"≤ {bar:g}×",
            met=None if bar is None else own / tuned <= bar, how=how,
        )
    ]  # fmt: skip


def plain_rows(name: str, comparison: Comparison, exact: Entry | None, inside: list[Entry]) -> list[Figure]:
    """Compare with the fastest plain export of the same precision."""
    if not BARS[name].beats_plain:
        return []
    rows = []
    for precision, entry in (
        ("fp32", exact),
        ("bf16", best_entry(comparison, [e for e in inside if e.planned.precision == "bf16"])),
    ):
        words = f"{name} {precision}, against the best plain ONNX export"
        plain = [f"plain-{engine}-{p}" for engine, p in PLAIN if p == precision]
        ratios = {} if entry is None else comparison.speedups[entry.subject.name]
        measured = {which: ratios[which] for which in plain if which in ratios}
        if entry is None or not measured:
            rows.append(Figure(name=words, value=None, unit="×", bar="> 1", met=False, how="not measured"))
            continue
        best_plain = min(measured, key=lambda which: measured[which].median)
        how = f"{entry.planned.name} over {best_plain}"
        rows.append(speed_figure(words, measured[best_plain], 1.0, how))
    return rows


def throughput_rows(name: str, tuned: Subject, fast: Entry | None, *, size: int) -> list[Figure]:
    """Take images a second at batch 8, in rounds of their own."""
    if fast is None:
        return []
    options = ComparisonOptions(
        batch_size=BATCH, num_rounds=3, num_warmup=1, image_size=size, baselines=("tuned",)
    )
    comparison = compare_subjects([tuned, fast.subject], options)
    rows = []
    for result in comparison.results:
        if result.measured is not None:
            which = "original tuned" if result.name == "tuned" else "optimized"
            how = f"{result.name}, batch {BATCH}"
            rows.append(
                Figure(
                    name=f"{name} throughput at batch {BATCH}, {which}",
                    value=result.measured.throughput_images_s,
                    unit="images/s",
                    how=how,
                )
            )
    return rows


def speed_figure(name: str, speedup: Interval, bar: float | None, how: str) -> Figure:
    """Write a paired ratio; the bar is met when its median reaches it."""
    met = None if bar is None else speedup.median >= bar
    return Figure(
        name=name, value=speedup.median, unit="×", low=speedup.low, high=speedup.high, bar=write_bar(bar),
        met=met, how=how,
    )  # fmt: skip


def write_bar(bar: float | None) -> str | None:
    """Write a bar as it stands in a table."""
    return None if bar is None else f"≥ {bar:g}×"


def print_details(name: str, comparison: Comparison, entries: list[Entry]) -> None:
    """Print every subject, those without a row included."""
    errors = {entry.subject.name: f"{entry.error_db(name):.1f} dB" for entry in entries}
    for result in comparison.results:
        if result.measured is None:
            print(f"{name:<16} {result.name:<30} failed: {result.reason}")
            continue
        ratios = comparison.speedups[result.name]
        against = "  ".join(
            f"{base} {ratios[base].median:.2f}×" for base in ("as_is", "tuned") if base in ratios
        )
        print(
            f"{name:<16} {result.name:<30} {result.measured.latency_ms.p50:9.1f} ms  {against}  "
            f"{result.measured.peak_bytes / 2**20:7.0f} MiB  {errors.get(result.name, '')}  "
            f"{result.precision_used}"
        )


if __name__ == "__main__":
    sys.exit(main())
