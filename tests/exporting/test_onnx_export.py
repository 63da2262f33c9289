from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from gantune.errors import ExportError, UsageError
from gantune.exporting import ExportOptions, ExportReport, export_onnx
from gantune.ops import use_implementation
from gantune.records.interface import InputSpec, OutputSpec
from gantune.runtime.engines.openvino_core import shared_core
from gantune.transforms import resampling
from stylegan_golden import NAMES as STYLEGAN_NAMES
from stylegan_golden import load_golden
from transform_samples import EXACT, SMALL_NAMES, build_small, original, prepare, relative_error

SLOW = [
    pytest.param(name, marks=pytest.mark.slow) for name in (*STYLEGAN_NAMES, *SMALL_NAMES) if name != "srvgg"
]


def run_file(path: Path, inputs: dict[str, Tensor]) -> Tensor:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run(None, {name: value.numpy() for name, value in inputs.items()})[0])


@pytest.mark.parametrize("name", ["srvgg", *SLOW])
def test_one_file_serves_batch_1_3_and_8(tmp_path: Path, name: str) -> None:
    report = export_onnx(prepare(name), tmp_path / "network.onnx")
    network = original(name)
    for n in (1, 3, 8):
        inputs = network.sample_inputs(n, seed=5)
        with torch.inference_mode():
            expected = network(**inputs)
        if any(spec.name == "truncation_psi" for spec in report.traced.inputs):
            inputs["truncation_psi"] = torch.tensor(1.0)
        assert relative_error(run_file(report.path, inputs), expected) <= EXACT


@pytest.mark.slow
@pytest.mark.parametrize("name", STYLEGAN_NAMES)
def test_the_golden_numbers_come_out_of_the_file(tmp_path: Path, name: str) -> None:
    numbers = load_golden(name).numbers
    report = export_onnx(prepare(name), tmp_path / "network.onnx")
    inputs = {"z": numbers["z"], "truncation_psi": torch.tensor(0.7)}
    if "c" in numbers:
        inputs["c"] = numbers["c"]
    assert relative_error(run_file(report.path, inputs), numbers["img_psi07_const"]) <= EXACT


@pytest.fixture(scope="module")
def uncond(tmp_path_factory: pytest.TempPathFactory) -> ExportReport:
    path = tmp_path_factory.mktemp("export") / "network.onnx"
    options = ExportOptions(latent="ws", noise="input")
    return export_onnx(resampling(prepare("stylegan2-uncond-32"), "subpixel"), path, options)


def test_noise_is_an_input_and_nothing_else_is_random(uncond: ExportReport) -> None:
    network = original("stylegan2-uncond-32")
    ws = load_golden("stylegan2-uncond-32").numbers["ws"][:2]
    layers = network.noise_inputs()
    torch.manual_seed(1)
    noise = {layer: torch.randn(2, *map(int, spec.shape[1:])) for layer, spec in layers.items()}
    given = {layers[layer].name: tensor for layer, tensor in noise.items()}
    image = run_file(uncond.path, {"ws": ws, **given})
    with torch.inference_mode():
        assert relative_error(image, network.synthesis(ws, noise=noise)) <= EXACT
    assert torch.equal(run_file(uncond.path, {"ws": ws, **given}), image)
    other = {name: torch.randn_like(tensor) for name, tensor in given.items()}
    assert not torch.equal(run_file(uncond.path, {"ws": ws, **other}), image)


def test_the_graph_holds_each_weight_once_and_as_a_constant(uncond: ExportReport) -> None:
    graph = onnx.load(uncond.path).graph
    initializers = {tensor.name for tensor in graph.initializer}
    convolutions = [node for node in graph.node if node.op_type in ("Conv", "ConvTranspose")]
    assert len(convolutions) >= 8
    assert all(node.input[1] in initializers for node in convolutions)
    assert not [node.op_type for node in graph.node if node.op_type.startswith("Random")]
    assert uncond.duplicate_bytes < 0.02 * uncond.size_bytes


def test_super_resolution_takes_any_size(tmp_path: Path) -> None:
    network = build_small("srvgg")
    report = export_onnx(network, tmp_path / "network.onnx")
    for height, width in ((5, 9), (64, 31)):
        image = torch.rand(2, 3, height, width)
        with torch.inference_mode():
            assert relative_error(run_file(report.path, {"image": image}), network(image)) <= EXACT


@pytest.mark.slow
def test_the_reference_form_with_modulated_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError), use_implementation("reference"):
        export_onnx(build_small("stylegan2"), tmp_path / "network.onnx")
    assert list(tmp_path.iterdir()) == []


class Faulty(nn.Module):
    """A network whose output depends on its input in a way that the graph's structure does not show."""

    family = "faulty"
    inputs = (InputSpec(name="z", kind="latent", shape=("N", 4)),)
    output = OutputSpec(channels=1)

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.config: dict[str, object] = {}
        self.factor = nn.Parameter(torch.tensor(factor), requires_grad=False)

    def forward(self, z: Tensor) -> Tensor:
        return (z * self.factor + 1)[:, None, None]


def test_an_output_that_does_not_react_is_refused(tmp_path: Path) -> None:
    export_onnx(Faulty(2.0), tmp_path / "sound.onnx")
    with pytest.raises(ExportError, match="does not react to the input 'z'"):
        export_onnx(Faulty(0.0), tmp_path / "faulty.onnx")
    assert not (tmp_path / "faulty.onnx").exists()


def test_what_cannot_be_traced_is_an_export_error(tmp_path: Path) -> None:
    class Branching(Faulty):
        def forward(self, z: Tensor) -> Tensor:
            return super().forward(z if bool((z.sum() > 0).item()) else -z)

    with pytest.raises(ExportError, match="cannot be exported to ONNX"):
        export_onnx(Branching(1.0), tmp_path / "network.onnx")


@pytest.mark.parametrize(("field", "value"), [("latent", "w"), ("noise", "random"), ("opset", 17)])
def test_a_wrong_option_is_a_usage_error(field: str, value: object) -> None:
    with pytest.raises(UsageError, match=str(value)):
        ExportOptions(**{field: value})  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning")  # the exporter's own
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
def test_grid_sample_means_the_same_in_every_engine(
    tmp_path: Path, padding_mode: str, align_corners: bool
) -> None:

    class Sampled(nn.Module):
        def forward(self, image: Tensor, theta: Tensor) -> Tensor:
            size = [image.shape[0], 2, 9, 7]
            grid = nn.functional.affine_grid(theta, size, align_corners=align_corners)
            return nn.functional.grid_sample(
                image, grid, padding_mode=padding_mode, align_corners=align_corners
            )

    torch.manual_seed(0)
    inputs = {"image": torch.randn(2, 2, 9, 7), "theta": torch.randn(2, 2, 3)}
    path = tmp_path / "sampled.onnx"
    torch.onnx.export(
        Sampled().eval(),
        tuple(inputs.values()),
        path,
        dynamo=True,
        opset_version=20,
        input_names=list(inputs),
        verbose=False,
    )
    expected = Sampled()(*inputs.values())
    assert relative_error(run_file(path, inputs), expected) <= 1e-5
    compiled = shared_core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    found = compiled({name: np.asarray(value) for name, value in inputs.items()})[0]
    assert relative_error(torch.from_numpy(found), expected) <= 1e-5
