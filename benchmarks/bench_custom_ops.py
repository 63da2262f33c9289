"""`make bench-custom-ops`: would gantune's kernels pay as custom operators of OpenVINO or ONNX Runtime?

Every 3×3 layer of StyleGAN3-T-256 runs as a modulated convolution and a filtered leaky ReLU: both in torch,
as the fused artifact does; and the convolution in an engine, the leaky ReLU in gantune's kernel, as a custom
operator written in Python (OpenVINO) and as a second call (ONNX Runtime). What an engine could gain at most
is its convolutions without any change of layout, beside our kernel, with nothing for crossing between them.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import cast

import numpy as np
import onnxruntime
import openvino
import torch
from bench import CACHE, THREADS
from official import OFFICIAL, write_official
from onnx import TensorProto, helper, numpy_helper
from openvino import opset13 as opset
from publish import publish
from torch import Tensor, nn

from gantune.backends import find_backend
from gantune.checkpoints import load
from gantune.measuring.latency import time_call
from gantune.networks.contract import Network
from gantune.ops.styled_convolution import Products, styled_convolution
from gantune.optimizing.build import apply_transforms
from gantune.records.figures import Figure
from gantune.runtime.allocator import tune_allocator
from gantune.transforms.fused_layers import FusedAliasFreeLayer

ROUNDS = 11
PRECISIONS: tuple[tuple[str, str, Products], ...] = (
    ("fp32", "torch-fused-fp32", "fp32"),
    ("bf16", "torch-fused-bf16-large", "bf16_large"),
)
Activate = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Layer:
    """One layer as the fused network runs it, with what it was given."""

    x: Tensor
    weight: Tensor
    scale_in: Tensor
    scale_out: Tensor
    fused: FusedAliasFreeLayer

    @property
    def shapes(self) -> tuple[object, ...]:
        """Give all that its time follows from."""
        inner = self.fused.layer
        sizes = (tuple(self.x.shape), tuple(self.weight.shape), inner.out_size)
        return *sizes, inner.up_factor, inner.down_factor

    def convolve(self) -> Tensor:
        """Run gantune's convolution with its scales."""
        options = replace(self.fused.options, scale_in=self.scale_in, scale_out=self.scale_out)
        return styled_convolution(self.x, self.weight, options)


class CustomLayer(openvino.Op):
    """The second half of a layer, run in Python by gantune's kernel inside OpenVINO's graph."""

    def __init__(self, inputs: list[openvino.Output], activate: Activate, shape: tuple[int, ...]) -> None:
        super().__init__(self)
        self._activate = activate
        self._shape = shape
        self.set_arguments(inputs)
        self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        """Tell the result's type and shape."""
        self.set_output_type(0, self.get_input_element_type(0), openvino.PartialShape(list(self._shape)))

    def clone_with_new_inputs(self, inputs: list[openvino.Output]) -> "CustomLayer":
        """Copy the operator, as OpenVINO's passes ask for."""
        return CustomLayer(inputs, self._activate, self._shape)

    def has_evaluate(self) -> bool:
        """Say that it can run."""
        return True

    def evaluate(self, outputs: list[openvino.Tensor], inputs: list[openvino.Tensor]) -> bool:
        """Run on the tensors' own memory."""
        outputs[0].data[...] = self._activate(torch.from_numpy(inputs[0].data)).numpy()
        return True


@torch.inference_mode()
def main() -> int:
    """Measure both precisions and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(THREADS)
    tune_allocator()
    rows: list[Figure] = []
    for precision, plan, products in PRECISIONS:
        layers = find_layers(plan)
        assert all(layer.fused.options.products == products for layer in layers)
        sums: defaultdict[str, float] = defaultdict(float)
        # Layers of the same shapes take the same time.
        counts = Counter(layer.shapes for layer in layers)
        for shapes, layer in {layer.shapes: layer for layer in layers}.items():
            for name, value in measure_layer(layer, precision, num_rounds=rounds).items():
                sums[name] += counts[shapes] * value
        rows += write_rows(precision, sums, num_layers=len(layers), num_rounds=rounds)
    return publish("bench-custom-ops", rows)


def find_layers(plan_name: str) -> list[Layer]:
    """Run the fused network once and note what each of its 3×3 layers is given."""
    official = next(official for official in OFFICIAL if official.name == "stylegan3-t-256")
    network = cast(Network, load(write_official(official, CACHE)))
    plan = next(plan for plan in find_backend("torch").plans(network.family) if plan.name == plan_name)
    fused = apply_transforms(cast(nn.Module, network), plan.steps)
    layers: list[Layer] = []

    def note(module: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        assert isinstance(module, FusedAliasFreeLayer)
        if module.weight is not None:
            scale_in, scale_out = module.layer.scales(arguments[1])
            layers.append(Layer(arguments[0].clone(), module.weight, scale_in, scale_out, module))

    for module in fused.modules():
        if isinstance(module, FusedAliasFreeLayer):
            module.register_forward_pre_hook(note)
    fused(torch.randn(1, 512, generator=torch.Generator().manual_seed(0)))
    return layers


def measure_layer(layer: Layer, precision: str, *, num_rounds: int) -> dict[str, float]:
    """Give medians in milliseconds of each way to run the layer, all of which are compared first."""
    activate = layer.fused.layer.activate
    convolved = layer.convolve()
    expected = activate(convolved)
    planar = convolved.contiguous()

    with_custom = open_openvino(layer, precision, activate, tuple(expected.shape))
    alone = open_openvino(layer, precision, None, ())
    runtime = open_onnxruntime(layer)
    x = {"x": layer.x.contiguous().numpy()}
    found = torch.from_numpy(np.asarray(with_custom.infer(x)[0]))
    # Two ways to multiply in bfloat16, each with 8 bits, differ by a few roundings of the largest value.
    bound = 5e-2 if precision == "bf16" else 1e-4
    assert (found - expected).abs().max() <= bound * expected.abs().max(), "the forms differ"
    calls: dict[str, Callable[[], object]] = {
        "torch": lambda: activate(layer.convolve()),
        "our convolution": lambda: layer.convolve(),
        "our filtered_lrelu": lambda: activate(convolved),
        "our filtered_lrelu, planar": lambda: activate(planar),
        "copy of the result": lambda: expected.clone(),
        "OpenVINO with the custom operator": lambda: with_custom.infer(x),
        "OpenVINO convolution": lambda: alone.infer(x),
    }
    if precision == "fp32":
        calls["ONNX Runtime convolution"] = lambda: runtime.run(None, x)
    for call in calls.values():
        call()
    rounds: list[dict[str, float]] = []
    for index in range(num_rounds):
        names = list(calls)[index % len(calls) :] + list(calls)[: index % len(calls)]
        rounds.append({name: time_warm(calls[name]) for name in names})
        rounds[-1]["OpenVINO convolution, without its changes of layout"] = convolution_ms(alone)
    return {name: median(one[name] for one in rounds) for name in rounds[0]}


def time_warm(call: Callable[[], object]) -> float:
    """Time a call after one that does not count: it brings back the caches and threads that others used."""
    call()
    return time_call(call)


def open_openvino(
    layer: Layer, precision: str, activate: Activate | None, shape: tuple[int, ...]
) -> openvino.InferRequest:
    """Compile a modulated convolution, with the custom operator behind it where there is one."""
    x = opset.parameter(list(layer.x.shape), np.float32, name="x")
    scaled = opset.multiply(x, opset.constant(layer.scale_in[:, :, None, None].numpy()))
    padding = [layer.fused.options.padding] * 2
    weight = opset.constant(layer.weight.numpy())
    convolved = opset.convolution(scaled, weight, [1, 1], padding, padding, [1, 1])
    result = opset.multiply(convolved, opset.constant(layer.scale_out[:, :, None, None].numpy()))
    if activate is not None:
        result = CustomLayer([result.output(0)], activate, shape)
    model = openvino.Model([opset.result(result)], [x], "layer")
    options = {
        "INFERENCE_NUM_THREADS": THREADS,
        "INFERENCE_PRECISION_HINT": {"fp32": "f32", "bf16": "bf16"}[precision],
        "PERF_COUNT": activate is None,
    }
    return openvino.Core().compile_model(model, "CPU", options).create_infer_request()


def convolution_ms(request: openvino.InferRequest) -> float:
    """Read what the convolution itself took in the last call."""
    return sum(
        node.real_time.total_seconds() * 1e3
        for node in request.get_profiling_info()
        if node.node_type in ("Convolution", "Eltwise", "Multiply")
    )


def open_onnxruntime(layer: Layer) -> onnxruntime.InferenceSession:
    """Open the same convolution in ONNX Runtime, in float32."""
    padding = [layer.fused.options.padding] * 4
    nodes = [
        helper.make_node("Mul", ["x", "scale_in"], ["scaled"]),
        helper.make_node("Conv", ["scaled", "weight"], ["convolved"], pads=padding),
        helper.make_node("Mul", ["convolved", "scale_out"], ["y"]),
    ]
    constants = [
        numpy_helper.from_array(layer.scale_in[:, :, None, None].numpy(), "scale_in"),
        numpy_helper.from_array(layer.scale_out[:, :, None, None].numpy(), "scale_out"),
        numpy_helper.from_array(layer.weight.numpy(), "weight"),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(layer.x.shape))]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", "K", "H", "W"])]
    graph = helper.make_graph(nodes, "layer", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def write_rows(precision: str, sums: dict[str, float], *, num_layers: int, num_rounds: int) -> list[Figure]:
    """Write what was measured, and from it what crossing costs and what a custom operator could gain."""
    how = f"sum over {num_layers} layers of medians of {num_rounds} rounds, {THREADS} threads, batch 1"
    rows = [
        Figure(name=f"{precision}, {name}", value=value, unit="ms", how=how) for name, value in sums.items()
    ]
    activations, copy = sums["our filtered_lrelu, planar"], sums["copy of the result"]
    crossing = (
        sums["OpenVINO with the custom operator"] - sums["OpenVINO convolution"] - activations - copy
    ) / num_layers
    ideal = sums["OpenVINO convolution, without its changes of layout"] + sums["our filtered_lrelu"]
    gain, best = sums["torch"] / sums["OpenVINO with the custom operator"], sums["torch"] / ideal
    derived = [
        ("crossing into the custom operator and back, a layer", crossing, "ms", "measured, less its parts"),
        ("OpenVINO with the custom operator, against torch", gain, "×", how),
        ("OpenVINO at best, against torch", best, "×", "no crossing and no change of layout"),
    ]
    if "ONNX Runtime convolution" in sums:
        ideal = sums["ONNX Runtime convolution"] + sums["our filtered_lrelu"]
        derived.append(("ONNX Runtime at best, against torch", sums["torch"] / ideal, "×", how))
    return rows + [
        Figure(name=f"{precision}, {name}", value=value, unit=unit, how=why)
        for name, value, unit, why in derived
    ]


if __name__ == "__main__":
    sys.exit(main())
