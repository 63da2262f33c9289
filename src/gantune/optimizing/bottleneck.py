"""Where a built candidate spends its time, as its own engine tells it."""

import json
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from gantune.networks.contract import Network
from gantune.ops import use_implementation
from gantune.optimizing.build import apply_transforms, count_threads
from gantune.profiling.layers import name_bottleneck, time_layers
from gantune.records.plan import PlannedCandidate
from gantune.records.report import LayerTime
from gantune.runtime import read_artifact
from gantune.runtime.sampling import Array, draw_inputs

_NUM_REPEATS = 5


def describe_bottleneck(
    network: nn.Module, planned: PlannedCandidate, artifact_dir: Path, *, threads: int, image_size: int
) -> str:
    """Name the kind of layer and the single layer that take most of a candidate's time, in one sentence."""
    layers = time_engine_layers(network, planned, artifact_dir, threads=threads, image_size=image_size)
    if not layers:
        return f"{planned.engine} does not say what each layer takes."
    return name_bottleneck(layers)


def time_engine_layers(
    network: nn.Module, planned: PlannedCandidate, artifact_dir: Path, *, threads: int, image_size: int
) -> tuple[LayerTime, ...]:
    """Time the layers of a candidate, the slowest first: the engine's own counters, or torch's modules.

    Empty for an engine that compiles everything into one piece.
    """
    count = count_threads(planned, threads)
    inputs = draw_inputs(read_artifact(artifact_dir).inputs, 1, 0, image_size=image_size)
    if planned.engine == "openvino":
        return _rank(_time_openvino(artifact_dir, inputs, count))
    if planned.engine == "onnxruntime":
        return _rank(_time_onnxruntime(artifact_dir, inputs, count))
    if planned.engine == "torch":
        return _time_torch(network, planned, count, image_size)
    return ()


def _time_torch(
    network: nn.Module, planned: PlannedCandidate, threads: int, image_size: int
) -> tuple[LayerTime, ...]:
    transformed = apply_transforms(network, planned.steps)
    assert isinstance(transformed, Network)
    inputs = draw_inputs(transformed.inputs, 1, 0, image_size=image_size)
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with use_implementation("auto"):
            return time_layers(transformed, tensors, num_repeats=_NUM_REPEATS)
    finally:
        torch.set_num_threads(before)


def _time_openvino(
    artifact_dir: Path, inputs: Mapping[str, Array], threads: int
) -> dict[tuple[str, str], float]:
    from gantune.runtime.engines.openvino import compile_settings
    from gantune.runtime.engines.openvino_core import shared_core

    artifact = read_artifact(artifact_dir)
    core = shared_core()
    model = core.read_model(artifact_dir / artifact.entry)
    model.reshape({name: list(array.shape) for name, array in inputs.items()})
    settings = {**compile_settings(artifact, threads), "PERF_COUNT": True}
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    repeats = []
    for _ in range(1 + _NUM_REPEATS):
        request.infer(dict(inputs))
        repeats.append(
            {
                (info.node_name, info.node_type): info.real_time.total_seconds() * 1e3
                for info in request.get_profiling_info()
            }
        )
    return _median(repeats[1:])


def _time_onnxruntime(
    artifact_dir: Path, inputs: Mapping[str, Array], threads: int
) -> dict[tuple[str, str], float]:
    import onnxruntime

    from gantune.runtime.engines.onnxruntime import session_options

    artifact = read_artifact(artifact_dir)
    options = session_options(artifact, threads)
    options.enable_profiling = True
    path = str(artifact_dir / artifact.entry)
    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = str(Path(folder) / "profile")
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        for _ in range(1 + _NUM_REPEATS):
            session.run(None, dict(inputs))
        events = json.loads(Path(session.end_profiling()).read_text())
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in events:
        if event["cat"] == "Node" and str(event["name"]).endswith("_kernel_time"):
            name = str(event["name"]).removesuffix("_kernel_time")
            found[name, str(event["args"]["op_name"])].append(float(event["dur"]) / 1e3)
    return {key: float(np.median(durations[1:] or durations)) for key, durations in found.items()}


def _median(repeats: Sequence[Mapping[tuple[str, str], float]]) -> dict[tuple[str, str], float]:
    return {key: float(np.median([repeat[key] for repeat in repeats])) for key in repeats[0]}


def _rank(times_ms: Mapping[tuple[str, str], float]) -> tuple[LayerTime, ...]:
    total_ms = sum(times_ms.values())
    layers = [
        LayerTime(name=name, kind=kind, time_ms=time_ms, share=time_ms / total_ms)
        for (name, kind), time_ms in times_ms.items()
        if time_ms > 0
    ]
    return tuple(sorted(layers, key=lambda layer: -layer.time_ms))
