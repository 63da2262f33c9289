"""Refuse, in one sentence, what cannot be quantized: graphs that hold integers or half precision already."""

from pathlib import Path

from torch import nn

from gantune.checkpoints import load_checkpoint
from gantune.errors import CheckpointError, UnsupportedError
from gantune.records.artifact import ARTIFACT_FILE_NAME
from gantune.runtime.artifact_files import read_artifact

_ROUNDING = ("QuantizeLinear", "DequantizeLinear", "QLinearConv", "ConvInteger", "MatMulInteger")


def load_float_network(path: Path) -> nn.Module:
    """Load the float32 generator to quantize.

    Raise `UnsupportedError` for an artifact and for an ONNX graph, with what is in it, since only a
    checkpoint has the layers that quantization prepares.
    """
    if path.is_dir() and (path / ARTIFACT_FILE_NAME).is_file():
        _refuse_artifact(path)
    if path.suffix == ".onnx" and path.is_file():
        _refuse_graph(path)
    return load_checkpoint(path).generator


def _refuse_artifact(path: Path) -> None:
    artifact = read_artifact(path)
    state = "is quantized already" if artifact.precision == "int8" else f"is a built {artifact.precision} one"
    raise UnsupportedError(f"The artifact {path} {state}; quantize the checkpoint that it was made from.")


def _refuse_graph(path: Path) -> None:
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        graph = onnx.load(path, load_external_data=False).graph
    except DecodeError:
        raise CheckpointError(f"{path} is no ONNX file; name a checkpoint.") from None
    half = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
    if any(node.op_type in _ROUNDING for node in graph.node):
        state = "is quantized already"
    elif any(tensor.data_type in half for tensor in graph.initializer):
        state = "has half precision weights, and integers are fitted to float32 ones"
    else:
        state = "has no layers that can be prepared"
    raise UnsupportedError(
        f"The ONNX graph {path} {state}; quantize the float32 checkpoint that it was made from."
    )
