"""gantune beside NNCF on StyleGAN2-256, in the same rounds: `benchmarks/results/accept-nncf.json`.

NNCF gets what helps it most: gantune's own float graph with constant weights, not the plain export. It lives
in a Python of its own, named by `--nncf-python`, since it is no part of gantune.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from accept_quantize import THREADS, find_file, make_run, say
from publish import publish

from gantune.backends import BuildOptions, find_backend
from gantune.backends.steps import constant_weights, fused_steps
from gantune.checkpoints import load
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
from gantune.optimizing.build import apply_transforms
from gantune.optimizing.calibration_inputs import CALIBRATION_SEED_OFFSET
from gantune.optimizing.quantization import choose_layers
from gantune.optimizing.quantization_candidates import (
    Judge,
    build_integers,
    calibrate_for_engine,
    round_to,
)
from gantune.optimizing.samples import draw_test_inputs
from gantune.records.artifact import ArtifactEnvironment, Precision
from gantune.records.figures import Figure
from gantune.records.plan import Step
from gantune.runtime import read_artifact, write_artifact
from gantune.runtime.artifact_files import describe_files
from gantune.runtime.sampling import draw_inputs

NAME = "StyleGAN2-256"
NUM_SAMPLES = 64
SCRIPT = Path(__file__).with_name("nncf_integers.py")


def main() -> int:
    """Build all five, compare their images with the original's, and time them side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nncf-python", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gantune-nncf-") as folder:
        return measure(Path(folder), arguments.nncf_python, rounds=arguments.rounds)


def measure(folder: Path, nncf_python: Path, *, rounds: int) -> int:
    """Publish the image error and the speed of each."""
    path = find_file(NAME, Path())
    network = load(path)
    assert isinstance(network, Network)
    run = make_run(NAME, folder, rounds=rounds)
    arrays = draw_test_inputs(network.inputs, seed=run.seed, samples=None, image_size=64)
    tuned = tuned_baseline(CheckpointSource(path=path.resolve()), threads=THREADS)
    judge = Judge(arrays, run_subject(tuned, arrays), network.output.value_range, THREADS)
    fused = fused_steps(network.family, "bf16_large")
    folders = {
        "gantune bf16-large": build_float(
            network, folder / "bf16-large", engine="torch", precision="bf16", steps=fused
        )
    }
    prepared = choose_layers(calibrate_for_engine(network, run), run, on_progress=say)
    rounded = round_to(prepared, run)
    built = build_integers(rounded, prepared.calibration, run, "bf16", folder / "int8", judge)
    folders["gantune int8, bf16 rest"] = built.folder
    constant = constant_weights(network.family, "transposed")
    plain = build_float(network, folder / "plain", engine="openvino", precision="fp32", steps=constant)
    samples = folder / "samples.npz"
    np.savez(samples, **draw_inputs(network.inputs, NUM_SAMPLES, CALIBRATION_SEED_OFFSET))
    for label, flags in (("NNCF default", ()), ("NNCF accurate", ("--accurate",))):
        say(f"quantizing with {label}")
        folders[f"{label}, bf16 rest"] = quantize_with_nncf(
            plain, folder / label.replace(" ", "-"), samples, nncf_python, flags
        )
    errors = {label: run.error_db(judge(found)[0]) for label, found in folders.items()}
    subjects = [
        Subject(name=label, source=ArtifactSource(directory=found, tune_allocator=True), threads=THREADS)
        for label, found in folders.items()
    ]
    comparison = compare_subjects(
        [tuned, *subjects], ComparisonOptions(num_rounds=rounds, baselines=("tuned",))
    )
    rows = []
    for label in folders:
        speed = comparison.speedups[label]["tuned"]
        rows.append(
            Figure(
                name=f"{NAME}, {label}", value=speed.median, unit="×", low=speed.low, high=speed.high,
                how=f"against tuned, {errors[label]:.1f} dB SNR on held-out latents, {rounds} rounds",
            )
        )  # fmt: skip
    return publish("accept-nncf", rows)


def build_float(
    network: Network, folder: Path, *, engine: str, precision: Precision, steps: tuple[Step, ...]
) -> Path:
    """Build a float form of the network."""
    options = BuildOptions(
        precision=precision, environment=ArtifactEnvironment(threads=THREADS, allocator="tuned")
    )
    find_backend(engine).build(apply_transforms(network, steps), folder, options)  # type: ignore[arg-type]
    return folder


def quantize_with_nncf(
    plain: Path, folder: Path, samples: Path, nncf_python: Path, flags: tuple[str, ...]
) -> Path:
    """Let NNCF write its graph, and describe it as an artifact."""
    folder.mkdir()
    artifact = read_artifact(plain)
    command = [nncf_python, SCRIPT, plain / artifact.entry, folder / "network.xml", samples, *flags]
    subprocess.run([str(word) for word in command], check=True, stdout=sys.stderr)
    described = artifact.model_copy(
        update={
            "precision": "int8",
            "entry": "network.xml",
            "files": describe_files(folder, ["network.xml", "network.bin"]),
            "options": {"rest_precision": "bf16"},
        }
    )
    write_artifact(described, folder)
    return folder


if __name__ == "__main__":
    sys.exit(main())
