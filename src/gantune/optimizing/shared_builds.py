"""Builds that several candidates share: the same file, with other words to the engine that runs it.

OpenVINO in float32 and in bfloat16 and ONNX Runtime read one graph; so do integers whose other layers run in
float32 or bfloat16; and a candidate with other threads or another allocator is the same artifact altogether.
"""

import json
import shutil
from pathlib import Path

from gantune.optimizing.build import BuildResult, engine_options, make_environment
from gantune.records.plan import PlannedCandidate
from gantune.runtime import read_artifact, write_artifact

# The engines that read a float network from the same ONNX file.
_ONNX_ENGINES = ("onnxruntime", "openvino")


class SharedBuilds:
    """Remember which artifact folders exist, by what their files follow from."""

    def __init__(self) -> None:
        self._built: dict[str, tuple[BuildResult, Path]] = {}

    def remember(self, build: BuildResult, planned: PlannedCandidate, artifact_dir: Path) -> None:
        """Let later candidates use this one's files; one that failed has none."""
        if build.status == "built":
            self._built.setdefault(_files_key(planned), (build, artifact_dir))

    def reuse(self, planned: PlannedCandidate, artifact_dir: Path, *, threads: int) -> BuildResult | None:
        """Make the candidate's artifact from files that are there already; None where there are none.

        The candidate is described anew: its engine, what the engine is told, and its environment.
        """
        build, source = self._built.get(_files_key(planned), (None, None))
        if build is None or source is None or not source.is_dir():
            return None
        if artifact_dir.exists():
            shutil.rmtree(artifact_dir)
        shutil.copytree(source, artifact_dir)
        changes = {
            "engine": planned.engine,
            "precision": planned.precision,
            "options": dict(engine_options(planned)),
            "environment": make_environment(planned, threads),
        }
        write_artifact(read_artifact(artifact_dir).model_copy(update=changes), artifact_dir)
        return build.model_copy(update={"name": planned.name})


def _files_key(planned: PlannedCandidate) -> str:
    is_float_graph = planned.engine in _ONNX_ENGINES and planned.precision != "int8"
    kind = "onnx" if is_float_graph else f"{planned.engine} {planned.precision}"
    steps = [
        (step.kind, step.name, {} if step.kind == "quantize" else step.options)
        for step in planned.steps
        if step.kind in ("transform", "quantize")
    ]
    return json.dumps([kind, steps], sort_keys=True)
