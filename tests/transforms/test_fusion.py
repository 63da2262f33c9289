from importlib import import_module

import pytest
import torch

from gantune.errors import UnsupportedError, UsageError
from gantune.ops.styled_convolution import missing
from gantune.transforms import fusion
from gantune.transforms.fused_layers import FusedModulatedLayer, FusedToRgbLayer, products_of
from gantune.transforms.fusion import MODES, Mode
from stylegan_golden import NAMES, load_golden
from transform_samples import EXACT, SMALL_NAMES, build_small, original, prepare, relative_error, run

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

FUSED = [name for name in (*NAMES, *SMALL_NAMES) if name != "dcgan"]


@pytest.mark.parametrize("name", FUSED)
def test_fusion_is_exact(name: str) -> None:
    assert relative_error(run(fusion(prepare(name))), run(original(name))) <= EXACT


@pytest.mark.parametrize("smallest", [8, 64])
@pytest.mark.parametrize("name", NAMES)
def test_a_fused_golden_network_gives_the_authors_numbers(
    name: str, smallest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The golden networks are small; the first bound fuses all their layers, the second only the larger ones.
    module = import_module("gantune.transforms.fusion")
    monkeypatch.setattr(module, "SMALLEST_SIZE", min(smallest, 16))
    monkeypatch.setattr(module, "SMALLEST_UPSAMPLED_SIZE", smallest)
    numbers = load_golden(name).numbers
    network = fusion(prepare(name))
    with torch.inference_mode():
        image = network.synthesis(numbers["ws"], noise_mode="const")
        unnoised = network.synthesis(numbers["ws"], noise_mode="none")
    assert relative_error(image, numbers["img_const"]) <= EXACT
    assert relative_error(unnoised, numbers.get("img_none", numbers["img_const"])) <= EXACT


@pytest.mark.parametrize("products", MODES[1:])
@pytest.mark.parametrize("name", ["stylegan2-uncond-32", "stylegan3-t-32", "srvgg"])
def test_half_precision_products_are_near(name: str, products: str) -> None:
    found, expected = run(fusion(prepare(name), products)), run(original(name))
    # 8 bits of bfloat16, a few layers deep, and three times that by large tiles.
    assert relative_error(found, expected) < 0.03


def test_given_noise_and_every_noise_mode_reach_the_fused_layers() -> None:
    network = original("stylegan2-uncond-32")
    fused = fusion(prepare("stylegan2-uncond-32"))
    ws = load_golden("stylegan2-uncond-32").numbers["ws"]
    shapes = network.synthesis.noise_shapes()
    torch.manual_seed(0)
    noise = {layer: torch.randn(len(ws), 1, *shape[2:]) for layer, shape in shapes.items()}
    with torch.inference_mode():
        assert relative_error(fused.synthesis(ws, noise=noise), network.synthesis(ws, noise=noise)) <= EXACT


def test_small_layers_stay_direct_and_the_others_are_fused() -> None:
    modules = dict(fusion(prepare("stylegan2-uncond-32")).named_modules())
    assert not isinstance(modules["synthesis.b8.conv1"], FusedModulatedLayer)
    assert not isinstance(modules["synthesis.b16.conv0"], FusedModulatedLayer)
    assert isinstance(modules["synthesis.b16.conv1"], FusedModulatedLayer)
    assert isinstance(modules["synthesis.b16.torgb"], FusedToRgbLayer)


def test_mixed_products_are_half_in_upsampling_layers_alone() -> None:
    modules = dict(fusion(prepare("stylegan2-uncond-32"), "mixed").named_modules())
    up, plain = modules["synthesis.b32.conv0"], modules["synthesis.b32.conv1"]
    assert isinstance(up, FusedModulatedLayer)
    assert isinstance(plain, FusedModulatedLayer)
    assert (products_of(up), products_of(plain)) == ({"bf16"}, {"fp32"})


def test_a_network_without_a_layer_to_fuse_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="no layer that the native convolution computes"):
        fusion(build_small("dcgan"))


def test_unknown_products_are_a_usage_error() -> None:
    with pytest.raises(UsageError, match="fp32, mixed, bf16, bf16_large"):
        fusion(prepare("srvgg"), "int8")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["bf16", "bf16_large"])
def test_the_smallest_layers_are_direct_in_bfloat16(mode: Mode) -> None:
    modules = dict(fusion(prepare("stylegan2-uncond-32"), mode).named_modules())
    expected = {"b4.conv1": "bf16_direct", "b8.conv1": "bf16_direct", "b16.conv0": "bf16_direct"}
    expected |= {"b16.conv1": "bf16", "b32.conv0": "bf16"}
    for name, products in expected.items():
        layer = modules[f"synthesis.{name}"]
        assert isinstance(layer, FusedModulatedLayer)
        assert products_of(layer) == {products}
