"""Network → file: ONNX and torch programs, checked, in artifact folders."""

from gantune.exporting.onnx_export import ExportReport, export_onnx
from gantune.exporting.options import ExportOptions
from gantune.exporting.torch_program import export_program

__all__ = ["ExportOptions", "ExportReport", "export_onnx", "export_program"]
