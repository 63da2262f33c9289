"""The candidates of a quantization run: integers in each form the engine may like, and the float ones."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gantune.backends import BACKENDS, BuildOptions, find_backend
from gantune.backends.executed_layers import read_executed_layers
from gantune.backends.steps import constant_weights
from gantune.errors import ExportError
from gantune.machine import describe_machine
from gantune.measuring import ArtifactSource, Subject, run_subject
from gantune.networks.contract import Network
from gantune.optimizing.build import apply_transforms, build_candidate
from gantune.optimizing.calibration_inputs import (
    CALIBRATION_SEED_OFFSET,
    SELECTION_SEED_OFFSET,
    draw_calibration_inputs,
)
from gantune.optimizing.integers import calibrate_evenly
from gantune.optimizing.planner import Situation, plan_candidates
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.revert import Selection
from gantune.quality.paired import compare_images
from gantune.records.artifact import Artifact, ArtifactEnvironment
from gantune.records.candidate import ImageQuality
from gantune.runtime.sampling import Array
from gantune.transforms.quantize import (
    Calibration,
    has_rounded_activations,
    quantize,
)

# The form of StyleGAN2's up-convolutions that each engine computes with integers. OpenVINO has integers for
# both: subpixel is 0.8 dB better, since its inputs may have a zero point, and 7 % slower (StyleGAN2-256).
FORMS = {"openvino": "subpixel", "onnxruntime": "subpixel"}
REST_PRECISIONS = {"openvino": ("fp32", "bf16"), "onnxruntime": ("fp32",)}
_BF16_INSTRUCTIONS = {"avx512_bf16", "amx_bf16"}
_FLOAT_ENGINES = ("openvino", "onnxruntime", "torch")
_NUM_SELECTION_SAMPLES = 4


@dataclass(frozen=True)
class Prepared:
    """A float network in an engine's form, what calibration saw of it, and the bits that were chosen."""

    network: nn.Module
    calibration: Calibration
    selection: Selection | None = None


@dataclass(frozen=True)
class Built:
    """One artifact with its images on the test inputs; `share` and `executed` belong to integers."""

    name: str
    engine: str
    precision: str
    folder: Path
    size_bytes: int
    quality: ImageQuality
    images: NDArray[np.float32]
    share: float | None = None
    executed: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Judge:
    """Run an artifact on the test inputs and compare its images with the original's."""

    arrays: Mapping[str, Array]
    expected: NDArray[np.float32]
    value_range: float
    threads: int

    def __call__(self, folder: Path) -> tuple[ImageQuality, NDArray[np.float32]]:
        """Return the comparison and the images."""
        subject = Subject(name="trial", source=ArtifactSource(directory=folder), threads=self.threads)
        images = run_subject(subject, self.arrays)
        return compare_images(images, self.expected, value_range=self.value_range), images


def calibrate_for_engine(network: nn.Module, run: QuantizationRun) -> Prepared:
    """Bring a network into the engine's form, even out its ranges where that is free, and calibrate it."""
    assert isinstance(network, Network)
    torch.set_num_threads(run.threads or describe_machine().num_cores)
    prepared = apply_transforms(network, constant_weights(network.family, FORMS[run.scheme.engine]))
    prepared, calibration = calibrate_evenly(prepared, lambda: _draw(network, run))
    return Prepared(prepared, calibration)


def _draw(network: nn.Module, run: QuantizationRun) -> Iterator[dict[str, torch.Tensor]]:
    assert isinstance(network, Network)
    return draw_calibration_inputs(
        network,
        num_samples=run.num_samples,
        seed=run.seed + CALIBRATION_SEED_OFFSET,
        pictures=run.pictures,
        image_size=run.image_size,
    )


def draw_selection_inputs(network: nn.Module, run: QuantizationRun) -> dict[str, torch.Tensor]:
    """Draw one batch that neither calibration nor the test uses."""
    assert isinstance(network, Network)
    return next(
        draw_calibration_inputs(
            network,
            num_samples=_NUM_SELECTION_SAMPLES,
            seed=run.seed + SELECTION_SEED_OFFSET,
            pictures=run.pictures,
            image_size=run.image_size,
        )
    )


def list_rest_precisions(engine: str) -> tuple[str, ...]:
    """List what the layers in float may compute in here: bf16 only where the processor has it."""
    has_bf16 = bool(_BF16_INSTRUCTIONS & set(describe_machine().instruction_sets))
    return tuple(rest for rest in REST_PRECISIONS[engine] if rest != "bf16" or has_bf16)


def round_to(prepared: Prepared, run: QuantizationRun) -> nn.Module:
    """Round the network to the bits that were chosen."""
    assert prepared.selection is not None
    bits, observer = dict(prepared.selection.bits), prepared.selection.observer
    return quantize(prepared.network, prepared.calibration, replace(run.scheme, bits=bits, observer=observer))


def build_integers(
    rounded: nn.Module,
    calibration: Calibration,
    run: QuantizationRun,
    rest: str,
    folder: Path,
    judge: Judge,
) -> Built:
    """Build the artifact of a rounded network with `rest` for the layers in float, and judge it.

    Raise `ExportError` where the engine ran no layer as integers although layers were to be.
    """
    engine = run.scheme.engine
    artifact = build_artifact(rounded, run, rest, folder, threads=judge.threads)
    executed = read_executed_layers(folder, image_size=run.image_size)
    share = share_of_integers(calibration, executed)
    if share == 0 and has_rounded_activations(rounded):
        raise ExportError(
            f"{engine} ran 0 % of the multiply-accumulates as integers although the graph asks for them; "
            f"choose another engine than {engine}."
        )
    quality, images = judge(folder)
    return Built(folder.name, engine, "int8", folder, artifact.size_bytes, quality, images, share, executed)


def build_artifact(
    rounded: nn.Module, run: QuantizationRun, rest: str, folder: Path, *, threads: int
) -> Artifact:
    """Build a rounded network for the run's engine, with `rest` for the layers in float."""
    engine = run.scheme.engine
    options = BuildOptions(
        precision="int8",
        environment=ArtifactEnvironment(threads=threads, allocator="tuned"),
        engine_options=(("rest_precision", rest),) if engine == "openvino" else (),
    )
    return find_backend(engine).build(rounded, folder, options)


def share_of_integers(calibration: Calibration, executed: Mapping[str, str]) -> float:
    """Give the share of the dense layers' multiply-accumulates that ran in integer kernels."""
    total = sum(record.macs for record in calibration.layers.values())
    ran = sum(record.macs for name, record in calibration.layers.items() if executed.get(name) == "int8")
    return ran / total if total else 0.0


def build_floats(
    network: nn.Module, out: Path, judge: Judge, on_progress: Callable[[str], None]
) -> tuple[list[Built], dict[str, str]]:
    """Build what the planner proposes for torch, OpenVINO and ONNX Runtime; also name what failed and why."""
    assert isinstance(network, Network)
    situation = Situation(
        family=network.family,
        target="cpu",
        goal="latency",
        precision="any",
        instruction_sets=tuple(describe_machine().instruction_sets),
    )
    found: list[Built] = []
    failed: dict[str, str] = {}
    for planned in plan_candidates(situation, BACKENDS):
        if planned.is_skipped or planned.engine not in _FLOAT_ENGINES:
            continue
        on_progress(f"building {planned.name}")
        folder = out / planned.name
        result = build_candidate(network, planned, folder, threads=judge.threads)
        if result.status == "failed":
            failed[planned.name] = result.reason
            continue
        quality, images = judge(folder)
        found.append(
            Built(planned.name, planned.engine, planned.precision, folder, result.size_bytes, quality, images)
        )
    return found, failed
