"""Write a network as one ONNX file that takes any batch size, checked before it is handed over."""

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx
import torch
from torch import nn

from gantune.errors import ExportError, StorageError, first_line
from gantune.exporting.graph_checks import check_graph, count_duplicate_bytes
from gantune.exporting.options import ExportOptions
from gantune.exporting.paired_check import PairedCheck, check_against_torch
from gantune.exporting.traced import TracedNetwork
from gantune.machine.whole_files import write_whole
from gantune.networks.contract import Network

_LOG = logging.getLogger(__name__)
_GROWTH_WARNING = 1.05
Translations = Mapping[Callable[..., object], Callable[..., object]]
_EXPORTER_ERRORS = (torch.onnx.OnnxExporterError, RuntimeError, ValueError, TypeError)


@dataclass(frozen=True)
class ExportReport:
    """Say what was written and how it compares with the network in torch."""

    path: Path
    size_bytes: int
    parameter_bytes: int
    duplicate_bytes: int
    traced: TracedNetwork
    paired: PairedCheck


def export_onnx(
    network: Network | nn.Module, path: Path, options: ExportOptions | None = None
) -> ExportReport:
    """Export through torch.export, check the graph, compare with torch at batch 1 and 3 in ONNX Runtime.

    Style networks need `static_modulation` first. Raise `ExportError` where the network cannot be traced,
    the graph breaks a rule, the output ignores an input or differs from torch; then no file is left behind.
    """
    assert isinstance(network, nn.Module)
    traced = TracedNetwork(network, options or ExportOptions()).eval()
    model = trace_onnx(traced)
    check_graph(model)
    write_onnx(model, path)
    try:
        paired = check_against_torch(traced, path)
    except ExportError:
        path.unlink(missing_ok=True)
        raise
    report = ExportReport(
        path=path,
        size_bytes=path.stat().st_size,
        parameter_bytes=sum(tensor.nbytes for tensor in network.state_dict().values()),
        duplicate_bytes=count_duplicate_bytes(model),
        traced=traced,
        paired=paired,
    )
    _warn_of_growth(report)
    return report


def trace_onnx(traced: TracedNetwork, translations: Translations | None = None) -> onnx.ModelProto:
    """Trace into an ONNX model; `translations` says what torch operators of ours become.

    Raise `ExportError` with the exporter's first line where it fails.
    """
    try:
        with _quiet_exporter(), torch.no_grad():
            program = torch.onnx.export(
                traced,
                traced.example(),
                dynamo=True,
                input_names=[spec.name for spec in traced.inputs],
                output_names=["output"],
                dynamic_shapes=(traced.dynamic_shapes(),),
                opset_version=traced.options.opset,
                external_data=False,
                optimize=True,
                custom_translation_table=dict(translations or {}),
                verbose=False,
            )
    except _EXPORTER_ERRORS as error:
        reason = first_line(root_cause(error))
        raise ExportError(f"The network cannot be exported to ONNX: {reason}") from error
    assert program is not None
    return program.model_proto


def root_cause(error: BaseException) -> BaseException:
    """Follow the causes of an error to the first one."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


@contextlib.contextmanager
def _quiet_exporter() -> Iterator[None]:
    """Keep the exporter's progress lines and its notes about packages we do not use from the user."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def write_onnx(model: onnx.ModelProto, path: Path) -> None:
    """Write a model, under a temporary name first; raise `StorageError` where the disk refuses."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_whole(path) as partial:
            onnx.save(model, partial, format="protobuf")
    except OSError as error:
        raise StorageError(f"{path} could not be written: {error.strerror}.") from error


def _warn_of_growth(report: ExportReport) -> None:
    if report.size_bytes > _GROWTH_WARNING * report.parameter_bytes + 2**20:
        _LOG.warning(
            "%s has %.1f MB for %.1f MB of parameters (%.1f MB are duplicates)",
            report.path,
            report.size_bytes / 1e6,
            report.parameter_bytes / 1e6,
            report.duplicate_bytes / 1e6,
        )
