"""Installing under a checkout: stand-in modules with the names and signatures of the field."""

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F

from gantune import ops
from gantune.errors import UsageError
from gantune.ops.install import PACKAGE, REPLACED

RESIZE = "padding=0, flip_filter=False, gain=1, impl='cuda'"
STAND_INS = {
    "upfirdn2d": [
        "setup_filter(f, device='cpu', normalize=True, flip_filter=False, gain=1, separable=None)",
        "upfirdn2d(x, f, up=1, down=1, padding=0, flip_filter=False, gain=1, impl='cuda')",
        f"filter2d(x, f, {RESIZE})",
        f"upsample2d(x, f, up=2, {RESIZE})",
        f"downsample2d(x, f, down=2, {RESIZE})",
    ],
    "bias_act": ["bias_act(x, b=None, dim=1, act='linear', alpha=None, gain=None, clamp=None, impl='cuda')"],
    "filtered_lrelu": [
        "filtered_lrelu(x, fu=None, fd=None, b=None, up=1, down=1, padding=0, gain=2 ** 0.5, slope=0.2, "
        "clamp=None, flip_filter=False, impl='cuda')"
    ],
    "conv2d_resample": [
        "conv2d_resample(x, w, f=None, up=1, down=1, padding=0, groups=1, flip_weight=True, "
        "flip_filter=False)"
    ],
    "conv2d_gradfix": [
        "conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)",
        "conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, "
        "dilation=1)",
        "no_weight_gradients(disable=True)",
    ],
    "grid_sample_gradfix": ["grid_sample(input, grid)"],
    "fma": ["fma(a, b, c)"],
}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Write a package `torch_utils.ops` whose every function fails, and put it on the path."""
    package = tmp_path / "torch_utils" / "ops"
    package.mkdir(parents=True)
    (tmp_path / "torch_utils" / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "other.py").write_text("untouched = True\n")
    for name, signatures in STAND_INS.items():
        lines = [f"def {signature}:\n    raise NotImplementedError\n" for signature in signatures]
        (package / f"{name}.py").write_text("enabled = False\n\n" + "\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    yield package
    ops.uninstall()
    for name in [name for name in sys.modules if name.split(".")[0] == "torch_utils"]:
        del sys.modules[name]


def load(name: str) -> ModuleType:
    return importlib.import_module(f"{PACKAGE}.{name}")


def is_replaced() -> bool:
    return bool(load("fma").fma(torch.ones(1), torch.ones(1), torch.ones(1)) == 2)


def check_every_function() -> None:
    torch.manual_seed(0)
    x, f = torch.randn(2, 3, 8, 8), ops.setup_filter([1, 3, 3, 1])
    g = torch.randn(4, 3)
    resize = load("upfirdn2d")
    assert torch.equal(resize.setup_filter([1, 3, 3, 1], device=torch.device("cpu")), f)
    for impl in ("ref", "cuda"):
        arguments = (x, torch.randn(3, 2), 2, [1, 3], [4, 3, 2, 1], True, 1.5)
        assert torch.allclose(resize.upfirdn2d(*arguments, impl), ops.upfirdn2d(*arguments), atol=1e-6)
        assert torch.allclose(
            resize.filter2d(x, f, 2, True, 1.5, impl), ops.filter2d(x, f, 2, True, 1.5), atol=1e-6
        )
        assert torch.allclose(
            resize.upsample2d(x, g, 3, 1, True, 2, impl), ops.upsample2d(x, g, 3, 1, True, 2), atol=1e-6
        )
        assert torch.allclose(
            resize.downsample2d(x, g, 3, 1, True, 2, impl), ops.downsample2d(x, g, 3, 1, True, 2), atol=1e-6
        )
        assert torch.allclose(
            load("bias_act").bias_act(x, torch.arange(8.0), 2, "lrelu", 0.1, 1.5, 0.7, impl),
            ops.bias_act(x, torch.arange(8.0), 2, "lrelu", 0.1, 1.5, 0.7),
        )
        assert torch.allclose(
            load("filtered_lrelu").filtered_lrelu(
                x, f, None, torch.ones(3), 2, 3, 4, 1.5, 0.1, 0.7, True, impl
            ),
            ops.filtered_lrelu(x, f, None, torch.ones(3), 2, 3, 4, 1.5, 0.1, 0.7, True),
            atol=1e-6,
        )
    lrelu = load("bias_act").activation_funcs["lrelu"]
    assert (lrelu.def_alpha, lrelu.def_gain) == (0.2, 2**0.5)
    assert is_replaced()


def check_convolutions() -> None:
    torch.manual_seed(0)
    x, w, f = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3), ops.setup_filter([1, 3, 3, 1])
    resampled = load("conv2d_resample").conv2d_resample(x, w, f, up=2, padding=1, flip_weight=False)
    ones = torch.ones(2, 3)
    expected = ops.modulated_conv2d(
        x, w, ones, up=2, padding=1, resample_filter=f, demodulate=False, flip_weight=False
    )
    assert torch.allclose(resampled, expected, atol=1e-5)
    gradfix = load("conv2d_gradfix")
    assert torch.equal(gradfix.conv2d(x, w, stride=2, padding=1), F.conv2d(x, w, stride=2, padding=1))
    assert torch.equal(gradfix.conv_transpose2d(resampled, w, groups=1), F.conv_transpose2d(resampled, w))
    grid = torch.rand(2, 4, 4, 2) * 2 - 1
    sampled = load("grid_sample_gradfix").grid_sample(x, grid)
    assert torch.allclose(sampled, F.grid_sample(x, grid, align_corners=False), atol=1e-6)


def test_modules_imported_later_are_ours(checkout: Path) -> None:
    ops.install()
    check_every_function()
    check_convolutions()


def test_modules_imported_before_get_our_functions_in_place(checkout: Path) -> None:
    before = [load(name) for name in REPLACED]
    with pytest.raises(NotImplementedError):
        is_replaced()
    ops.install()
    ops.install()
    assert [load(name) for name in REPLACED] == before
    check_every_function()
    check_convolutions()


@pytest.mark.parametrize("imports_first", [True, False])
def test_uninstall_gives_the_checkout_its_own_functions_back(checkout: Path, imports_first: bool) -> None:
    if imports_first:
        load("fma"), load("bias_act")
    ops.install()
    assert is_replaced()
    ops.uninstall()
    ops.uninstall()
    with pytest.raises(NotImplementedError):
        is_replaced()
    assert not hasattr(load("bias_act"), "activation_funcs")
    assert load("conv2d_gradfix").enabled is False


@pytest.mark.parametrize("name", REPLACED)
def test_every_function_has_the_arguments_of_the_one_it_replaces(checkout: Path, name: str) -> None:
    original = load(name)
    signatures = {
        key: inspect.signature(value) for key, value in vars(original).items() if inspect.isfunction(value)
    }
    assert signatures
    ops.install()
    for key, signature in signatures.items():
        ours = inspect.signature(getattr(original, key))
        assert list(ours.parameters) == list(signature.parameters), key
        defaults = {parameter.name: parameter.default for parameter in signature.parameters.values()}
        if key != "setup_filter":  # there None and "cpu" are the same device
            assert {parameter.name: parameter.default for parameter in ours.parameters.values()} == defaults


def test_other_modules_of_the_checkout_are_untouched(checkout: Path) -> None:
    ops.install()
    assert load("other").untouched


def test_the_scripts_own_switches_work(checkout: Path) -> None:
    ops.install()
    gradfix = load("conv2d_gradfix")
    gradfix.enabled = True
    x, w = torch.randn(1, 2, 5, 5, requires_grad=True), torch.randn(2, 2, 3, 3, requires_grad=True)
    with gradfix.no_weight_gradients():
        [gradient] = torch.autograd.grad(gradfix.conv2d(x, w).square().sum(), [x], create_graph=True)
    gradient.square().sum().backward()
    assert w.grad is not None
    assert w.grad.any(), "R1's gradient with respect to the weights is lost"


def test_an_unknown_impl_is_refused(checkout: Path) -> None:
    ops.install()
    with pytest.raises(UsageError, match="unknown impl 'slow'; allowed: ref, cuda"):
        load("bias_act").bias_act(torch.zeros(1, 1), impl="slow")
