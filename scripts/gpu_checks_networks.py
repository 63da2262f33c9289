"""Official networks on a GPU: inference in several ways, and a training step of StyleGAN2."""

from collections.abc import Callable
from importlib.util import find_spec

import torch
from gpu_checks_setting import Setting, absent
from official import OFFICIAL, Official, randomize_trained_values
from torch import Tensor, nn

from gantune import transforms
from gantune.networks.catalogue import build_network
from gantune.networks.stylegan3 import StyleGAN3Generator, calibrate_magnitudes
from gantune.ops import use_implementation
from gantune.ops.tolerance import EXACT, largest_error
from gantune.records.figures import Figure
from gantune.runtime.engines.cuda_graphs import GraphedCall
from gantune.runtime.engines.float32_products import float32_products
from gantune.training.losses import discriminator_loss, generator_loss, r1_penalty

TRAINED = "stylegan2-256"
BATCH = 8
# What compiling a network of this size may take.
COMPILING_S = 120
SHARED_SIZES = ("c_dim", "img_channels", "img_resolution", "channel_base", "channel_max")


def infer_networks(setting: Setting) -> list[Figure]:
    """Time one image of each official network: reference and ours, eager, compiled, and as a CUDA graph."""
    rows: list[Figure] = []
    for official in OFFICIAL:
        if setting.deadline.is_over:
            rows.append(absent(official.name, "the time budget was used up"))
            continue
        rows += infer_network(official, setting)
    if find_spec("tensorrt") is None:
        rows.append(absent("TensorRT", "tensorrt is not installed"))
    else:
        rows.append(absent("TensorRT", "there is no TensorRT engine among the backends yet"))
    return rows


def infer_network(official: Official, setting: Setting) -> list[Figure]:
    """Check that our forms give the reference's image, then time each way of running."""
    network = build(official, setting).to(setting.device)
    ws = torch.randn(1, network.num_ws, network.w_dim, generator=torch.Generator().manual_seed(1))
    ws = ws.to(setting.device)
    half = transforms.layout(transforms.precision(transforms.static_modulation(network), "fp16"))
    half = half.to(setting.device)

    def run(subject: nn.Module, form: str) -> Callable[[Tensor], Tensor]:
        def call(ws: Tensor) -> Tensor:
            with use_implementation(form):
                return subject.synthesis(ws, noise_mode="const")

        return call

    with torch.inference_mode(), float32_products("ieee"):
        expected = run(network, "reference")(ws)
        error = largest_error(run(network, "triton")(ws), expected)
        rows = [
            Figure(
                name=f"{official.name}: error of the triton form",
                value=error,
                unit="relative",
                bar=f"≤ {EXACT.relative:g}",
                met=error <= EXACT.relative,
                how="float32 image against the reference form, TF32 off",
            )
        ]
        if error > EXACT.relative:
            return rows
        ways: dict[str, Callable[[Tensor], Tensor]] = {
            "reference": run(network, "reference"),
            "triton": run(network, "triton"),
            "triton, fp16 convolutions, channels-last": run(half, "triton"),
        }
        if not setting.is_dry:
            ways["triton, CUDA graph"] = GraphedCall(ways["triton"])
            name = "triton, fp16 convolutions, channels-last"
            ways[f"{name}, CUDA graph"] = GraphedCall(ways[name])
        ways["reference, torch.compile"] = compiled(run(network, "reference"), setting)
        for name, way in ways.items():
            if "compile" in name and setting.deadline.remaining_s < COMPILING_S:
                rows.append(absent(f"{official.name}: {name}", "the time left is too short to compile"))
                continue
            rows += time_way(f"{official.name}: {name}", way, ws, setting)
    return rows


def compiled(call: Callable[[Tensor], Tensor], setting: Setting) -> Callable[[Tensor], Tensor]:
    return torch.compile(call, backend=setting.compile_backend, dynamic=False)


def time_way(name: str, way: Callable[[Tensor], Tensor], ws: Tensor, setting: Setting) -> list[Figure]:
    """Give latency and peak memory of one way."""
    if not setting.is_dry:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    ms = setting.time_ms(lambda: way(ws))
    rows = [Figure(name=name, value=ms, unit="ms", how="one image, batch 1, synthesis")]
    if not setting.is_dry:
        peak = torch.cuda.max_memory_allocated()
        rows.append(
            Figure(name=f"{name}, peak memory", value=peak / 2**20, unit="MiB", how="by torch, all weights")
        )
    return rows


def train_step(setting: Setting) -> list[Figure]:
    """Time a step of StyleGAN2 (G, then D with R1) in the reference and in our forms, and its peak memory."""
    [official] = [item for item in OFFICIAL if item.name == TRAINED]
    found: dict[str, tuple[float, float]] = {}
    for form in ("reference", "triton"):
        generator = build(official, setting).to(setting.device).train().requires_grad_(True)
        sizes = {key: value for key, value in config_of(official, setting).items() if key in SHARED_SIZES}
        discriminator = build_network(official.family, sizes, role="discriminator")
        discriminator = discriminator.to(setting.device).train().requires_grad_(True)
        step = make_step(generator, discriminator, form, setting)
        if not setting.is_dry:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        with float32_products("tf32"):
            ms = setting.time_ms(step)
        peak = 0.0 if setting.is_dry else float(torch.cuda.max_memory_allocated())
        found[form] = (ms, peak)
        del generator, discriminator, step
    batch = 2 if setting.is_dry else BATCH
    how = f"G and D with R1, batch {batch}, float32 with TF32 products"
    name = "StyleGAN2-256 training step"
    speedup = found["reference"][0] / found["triton"][0]
    rows = [Figure(name=f"{name}: {form}", value=ms, unit="ms", how=how) for form, (ms, _) in found.items()]
    rows.append(
        Figure(
            name=f"{name}: speedup", value=speedup, unit="×", how=how, **setting.bar(speedup, at_least=1.3)
        )
    )
    if not setting.is_dry:
        memory = found["triton"][1] / found["reference"][1]
        bar = setting.bar(memory, at_most=0.8)
        rows.append(Figure(name=f"{name}: peak memory ratio", value=memory, unit="", how=how, **bar))
    return rows


def make_step(
    generator: nn.Module, discriminator: nn.Module, form: str, setting: Setting
) -> Callable[[], None]:
    """Return one step: the generator's gradient, then the discriminator's with its R1 penalty."""
    batch = 2 if setting.is_dry else BATCH
    draw = torch.Generator().manual_seed(2)
    z = torch.randn(batch, generator.z_dim, generator=draw).to(setting.device)
    size = generator.resolution
    real = torch.randn(batch, generator.img_channels, size, size, generator=draw).to(setting.device)

    def step() -> None:
        for network in (generator, discriminator):
            network.zero_grad(set_to_none=True)
        with use_implementation(form):
            image = generator(z)
            generator_loss(discriminator(image, None)).mean().backward()
            discriminator.zero_grad(set_to_none=True)
            shown = real.detach().requires_grad_()
            logits = discriminator(shown, None)
            loss = discriminator_loss(logits, is_real=True).mean() + 5 * r1_penalty(logits, shown).mean()
            loss = loss + discriminator_loss(discriminator(image.detach(), None), is_real=False).mean()
            loss.backward()

    return step


def config_of(official: Official, setting: Setting) -> dict[str, object]:
    """Return the official sizes, or in a dry run a tiny network."""
    if not setting.is_dry:
        return dict(official.config)
    small = {"z_dim": 4, "w_dim": 4, "img_resolution": 8, "channel_base": 16, "channel_max": 4}
    if official.family == "stylegan3":
        small |= {"img_resolution": 16, "num_layers": 4, "num_critical": 1}
    return official.config | small


def build(official: Official, setting: Setting) -> nn.Module:
    """Build the network with random weights and noise that shows."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build_network(official.family, config_of(official, setting))
        randomize_trained_values(network)
    if isinstance(network, StyleGAN3Generator):
        calibrate_magnitudes(network, 0)
    return network
