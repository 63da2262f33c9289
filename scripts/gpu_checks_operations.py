"""The operations on a GPU: golden numbers and official layers in every form, then time and bandwidth."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from gpu_checks_setting import Setting, absent
from torch import Tensor

from gantune import ops
from gantune.ops.bias_act.cost import bias_act_cost
from gantune.ops.bias_act.options import parse_options as parse_bias_act
from gantune.ops.filtered_lrelu.cost import filtered_lrelu_cost
from gantune.ops.filtered_lrelu.options import parse_options as parse_filtered_lrelu
from gantune.ops.operation_cost import OperationCost
from gantune.ops.tolerance import BY_DTYPE, EXACT, largest_error
from gantune.ops.upfirdn2d.cost import upfirdn2d_cost
from gantune.ops.upfirdn2d.options import parse_options as parse_upfirdn2d
from gantune.records.figures import Figure
from gantune.runtime.engines.float32_products import float32_products
from operation_samples import Call, derivatives, golden_names, load_golden, official_calls

FORM = "triton"
DRY_GOLDEN = ("upfirdn2d", "bias_act", "filtered_lrelu", "modulated_conv2d")
LARGEST_SHARE = 0.8


def check_operations(setting: Setting) -> list[Figure]:
    """Compare golden derivatives, and official layers in each dtype and layout, with their bounds."""
    names = golden_names()
    if setting.is_dry:
        names = [next(name for name in names if name.startswith(operation)) for operation in DRY_GOLDEN]
    with float32_products("ieee"):
        worst = max(golden_error(name, setting) for name in names)
    rows = [
        Figure(
            name="largest error of golden forwards, first and second derivatives",
            value=worst,
            unit="relative",
            bar=f"≤ {EXACT.relative:g}",
            met=worst <= EXACT.relative,
            how=f"{len(names)} golden cases, triton form",
        )
    ]
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        with float32_products("ieee"):
            found = [layer_error(call, dtype, setting) for call in sample_layers(setting)]
        bound = BY_DTYPE[dtype].relative
        name = f"largest error of official layers in {str(dtype).removeprefix('torch.')}"
        how = "planes and channels-last, against the reference in float64 of the same rounded inputs"
        rows.append(
            Figure(
                name=name,
                value=max(found),
                unit="relative",
                bar=f"≤ {bound:g}",
                met=max(found) <= bound,
                how=how,
            )
        )
    return rows


def golden_error(name: str, setting: Setting) -> float:
    """Return the largest error of a golden case: result, first and second derivatives."""
    call, stored = load_golden(name)
    call = call.map(lambda tensor: tensor.to(setting.device))
    leaves = call.require_gradients()
    keys = [key for key, tensor in call.tensors.items() if tensor is not None and tensor.requires_grad]
    y = call.run(FORM)
    first, second = derivatives(y, stored["dy"].to(setting.device), leaves)
    errors = [largest_error(y.cpu(), stored["y"])]
    errors += [largest_error(g.cpu(), stored[f"d{key}"]) for key, g in zip(keys, first, strict=True)]
    for key, leaf, gradient in zip(keys, leaves, second, strict=True):
        expected = stored.get(f"dd{key}", torch.zeros(leaf.shape))
        found = torch.zeros(leaf.shape) if gradient is None else gradient.cpu()
        errors.append(largest_error(found, expected))
    return max(errors)


def sample_layers(setting: Setting) -> list[Call]:
    """Return the official layers, cut to a corner in a dry run."""
    calls = list(official_calls().values())
    if not setting.is_dry:
        return calls
    small = []
    for call in calls:
        x = call.tensors["x"]
        if x is None or "noise" in call.tensors:
            continue
        tensors = call.tensors | {"x": x[:, :2, :20, :24].clone()}
        if tensors.get("b") is not None:
            tensors["b"] = tensors["b"][:2]
        small.append(Call(call.operation, tensors, call.keywords))
    return small


def layer_error(call: Call, dtype: torch.dtype, setting: Setting) -> float:
    """Return the larger error of the two layouts."""
    call = call.map(lambda tensor: tensor.to(setting.device, dtype))
    expected = call.double().run("reference")
    errors = []
    for layout in (torch.contiguous_format, torch.channels_last):
        call.tensors["x"] = call.tensors["x"].contiguous(memory_format=layout)
        errors.append(largest_error(call.run(FORM), expected))
    return max(errors)


@dataclass(frozen=True)
class Layer:
    """An operation on given tensors, to be run in any form, and what it cannot avoid."""

    name: str
    run: Callable[[str], Tensor]
    cost: OperationCost
    is_memory_bound: bool


def time_operations(setting: Setting) -> list[Figure]:
    """Time each form of each layer; give its bandwidth as a share of what a copy reaches here."""
    dtype = torch.float16
    x = draw((1, 512, 256, 256), setting, dtype)
    target = torch.empty_like(x)
    copy_ms = setting.time_ms(lambda: target.copy_(x))
    copied = 2 * x.numel() * x.element_size()
    bandwidth = copied / copy_ms * 1e3
    peak_flops = measure_flops(setting)
    rows = [
        Figure(
            name="copy bandwidth", value=bandwidth / 1e9, unit="GB/s", how=f"copy of {list(x.shape)} float16"
        ),
        Figure(name="float32 multiply-adds", value=peak_flops / 1e12, unit="TFLOP/s", how="square product"),
    ]
    for layer in make_layers(setting, dtype):
        if setting.deadline.is_over:
            rows.append(absent(layer.name, "the time budget was used up"))
            continue
        rows += time_layer(layer, setting, bandwidth, peak_flops)
    return rows


def time_layer(layer: Layer, setting: Setting, bandwidth: float, peak_flops: float) -> list[Figure]:
    """Time reference, torch.compile of it, and the Triton form of one layer."""
    compiled = torch.compile(lambda: layer.run("portable"), backend=setting.compile_backend, dynamic=False)
    calls = {
        "reference": lambda: layer.run("reference"),
        "torch.compile": compiled,
        FORM: lambda: layer.run(FORM),
    }
    rows = []
    fastest_ms = layer.cost.fastest_ms(flops_per_s=peak_flops, bytes_per_s=bandwidth)
    for name, call in calls.items():
        with torch.inference_mode():
            ms = setting.time_ms(call)
        moved = layer.cost.moved_bytes / ms / 1e6
        is_judged = name == FORM and layer.is_memory_bound
        share = layer.cost.moved_bytes / ms * 1e3 / bandwidth
        rows.append(Figure(name=f"{layer.name}: {name}", value=ms, unit="ms", how=f"{moved:.0f} GB/s"))
        rows.append(
            Figure(
                name=f"{layer.name}: {name}, share of copy bandwidth",
                value=share,
                unit="",
                how=f"{fastest_ms / ms:.0%} of the roofline of copy bandwidth and float32 multiply-adds",
                **(setting.bar(share, at_least=LARGEST_SHARE) if is_judged else {}),
            )
        )
    return rows


def make_layers(setting: Setting, dtype: torch.dtype) -> list[Layer]:
    """Return the layers of the acceptance, in float16."""
    x = draw((1, 512, 256, 256), setting, dtype)
    b = draw((512,), setting, dtype)[: x.shape[1]]
    f = ops.setup_filter([1, 3, 3, 1], device=setting.device)
    size = tuple(x.shape)
    assert len(size) == 4
    act = parse_bias_act(1, "lrelu", None, None, 256.0)
    up = parse_upfirdn2d(2, 1, [2, 1, 2, 1], flip_filter=False, gain=4)
    down = parse_upfirdn2d(1, 2, 1, flip_filter=False, gain=1)
    layers = [
        Layer(
            "bias_act lrelu+clamp 512×256²",
            lambda form: ops.bias_act(x, b, act="lrelu", clamp=256, implementation=form),
            bias_act_cost(size, act, has_bias=True, element_bytes=dtype.itemsize),
            is_memory_bound=True,
        ),
        Layer(
            "upfirdn2d up 2, 4 taps, 512×256²",
            lambda form: ops.upfirdn2d(x, f, 2, 1, [2, 1, 2, 1], gain=4, implementation=form),
            upfirdn2d_cost(size, (4, 4), up, element_bytes=dtype.itemsize),
            is_memory_bound=True,
        ),
        Layer(
            "upfirdn2d down 2, 4 taps, 512×256²",
            lambda form: ops.upfirdn2d(x, f, 1, 2, 1, implementation=form),
            upfirdn2d_cost(size, (4, 4), down, element_bytes=dtype.itemsize),
            is_memory_bound=True,
        ),
    ]
    shapes = [(512, 54, 2, 12, 9), (362, 86, 4, 24, 17), (91, 278, 2, 12, 9)]
    return layers + [filtered_layer(*shape, setting, dtype) for shape in shapes]


def filtered_layer(
    channels: int, extent: int, up: int, taps: int, pad: int, setting: Setting, dtype: torch.dtype
) -> Layer:
    x = draw((1, channels, extent, extent), setting, dtype)
    b = draw((channels,), setting, dtype)[: x.shape[1]]
    fu = ops.setup_filter(torch.hann_window(taps + 2, periodic=False)[1:-1], device=setting.device)
    fd = ops.setup_filter(torch.hann_window(14, periodic=False)[1:-1], device=setting.device)
    options = parse_filtered_lrelu(up, 2, pad, gain=2**0.5, slope=0.2, clamp=256, flip_filter=False)
    size = tuple(x.shape)
    assert len(size) == 4
    cost = filtered_lrelu_cost(size, (taps,), (12,), options, has_bias=True, element_bytes=dtype.itemsize)

    def run(form: str) -> Tensor:
        return ops.filtered_lrelu(x, fu, fd, b, up, 2, pad, clamp=256, implementation=form)

    # About 100 multiply-adds for each value that is moved: bound by arithmetic on every GPU of today.
    return Layer(f"filtered_lrelu up {up}, {channels}×{extent}²", run, cost, is_memory_bound=False)


def draw(shape: tuple[int, ...], setting: Setting, dtype: torch.dtype) -> Tensor:
    """Draw a tensor of `shape`, or in a dry run of at most 2 channels of 24 × 24."""
    if setting.is_dry and len(shape) == 4:
        shape = (shape[0], min(shape[1], 2), min(shape[2], 24), min(shape[3], 24))
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator).to(setting.device, dtype)


def measure_flops(setting: Setting) -> float:
    """Return the float32 operations a second of a square product, without TF32."""
    size = 64 if setting.is_dry else 8192
    a = torch.randn(size, size, device=setting.device)
    with float32_products("ieee"):
        return 2 * size**3 / setting.time_ms(lambda: a @ a) * 1e3
