"""A case: everything that the leaves of the troubleshooting tree look at, gathered once."""

import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import ValidationError
from torch import nn

from gantune import runtime
from gantune.backends.steps import constant_weights
from gantune.checkpoints import load
from gantune.errors import CheckpointError, GantuneError, UsageError
from gantune.exporting.onnx_export import export_onnx
from gantune.exporting.options import ExportOptions
from gantune.machine import describe_machine
from gantune.networks.contract import Network
from gantune.optimizing.build import apply_transforms
from gantune.records.artifact import ARTIFACT_FILE_NAME, Artifact
from gantune.records.machine import Machine
from gantune.records.report import Report

Kind = Literal["checkpoint", "artifact", "run"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is known of a subject; what does not apply to its kind is empty.

    `load_error` and `export_error` are the sentences that reading and exporting ended with, "" where they
    worked. `precision_used` was read back from the engine.
    """

    subject: str
    kind: Kind
    machine: Machine
    load_error: str = ""
    export_error: str = ""
    report: Report | None = None
    artifact: Artifact | None = None
    precision_used: str = ""


def open_case(path: Path) -> Case:
    """Look at a checkpoint, an artifact folder or a run folder, and run what has to be run.

    Raises `UsageError` where there is nothing of that kind at `path`.
    """
    if (path / "report.json").is_file():
        return _open_run(path)
    if (path / ARTIFACT_FILE_NAME).is_file():
        return _open_artifact(path)
    if path.is_file():
        return _open_checkpoint(path)
    raise UsageError(f"There is no checkpoint, artifact or finished run at {path}. Name one of them.")


def _open_checkpoint(path: Path) -> Case:
    case = Case(subject=path.name, kind="checkpoint", machine=describe_machine())
    try:
        network = load(path)
    except GantuneError as error:
        return replace(case, load_error=str(error))
    return replace(case, export_error=_try_export(network))


def _try_export(network: nn.Module) -> str:
    """Export to ONNX as most engines need it, at two batch sizes; return what it ended with."""
    assert isinstance(network, Network)
    try:
        prepared = apply_transforms(network, constant_weights(network.family, "transposed"))
        with tempfile.TemporaryDirectory(prefix="gantune-doctor-") as folder:
            export_onnx(prepared, Path(folder) / "network.onnx", ExportOptions())
    except GantuneError as error:
        return str(error)
    return ""


def _open_artifact(path: Path) -> Case:
    case = Case(subject=path.name, kind="artifact", machine=describe_machine())
    try:
        loaded = runtime.load(path)
    except GantuneError as error:
        return replace(case, load_error=str(error))
    return replace(case, artifact=loaded.artifact, precision_used=loaded.precision_used)


def _open_run(path: Path) -> Case:
    try:
        report = Report.model_validate(json.loads((path / "report.json").read_text(encoding="utf-8")))
    except (ValidationError, ValueError) as error:
        first_line = str(error).splitlines()[0]
        raise CheckpointError(
            f"{path / 'report.json'} is no report of this version ({first_line})."
        ) from None
    return Case(
        subject=path.name,
        kind="run",
        machine=describe_machine(),
        report=report,
    )
