import pytest
import torch
from torch import Tensor, nn

from gantune.errors import UnsupportedError, UsageError
from gantune.transforms import precision
from gantune.transforms.precision import HalfConvolution, HalfUpConvolution
from transform_samples import SMALL_NAMES, build_small, prepare, relative_error, run


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
@pytest.mark.parametrize("family", SMALL_NAMES)
def test_half_precision_is_near_and_not_equal(family: str, dtype: str) -> None:
    network = prepare(family)
    error = relative_error(run(precision(network, dtype)), run(network))
    # 8 bits of bfloat16 round by 2^-9 at most, a few layers deep; 11 bits of float16 by 2^-12. An instance
    # norm stretches a faint signal to unit variance, and its rounding with it.
    stretch = 2 if family == "cyclegan" else 1
    assert 0 < error < stretch * (0.03 if dtype == "bf16" else 0.004)


def test_dense_convolutions_alone_leave_float32() -> None:
    network = precision(prepare("stylegan2"), "bf16")
    half = {name for name, tensor in network.state_dict().items() if tensor.dtype == torch.bfloat16}
    assert half
    assert all("convolution" in name and name.endswith("weight") for name in half)
    filters = [m.filter for m in network.modules() if isinstance(m, HalfUpConvolution)]
    assert filters
    assert all(f is not None and f.dtype == torch.float32 for f in filters)


def test_the_output_and_what_leaves_a_convolution_is_float32() -> None:
    network = precision(prepare("stylegan3"), "bf16")
    seen: set[torch.dtype] = set()

    def note(_: nn.Module, __: object, result: Tensor) -> None:
        seen.add(result.dtype)

    for module in network.modules():
        if isinstance(module, HalfConvolution):
            module.register_forward_hook(note)
    assert run(network).dtype == torch.float32
    assert seen == {torch.float32}


def test_a_network_with_modulated_weights_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="apply static_modulation first"):
        precision(build_small("stylegan3"), "bf16")


def test_an_unknown_precision_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="bf16, fp16"):
        precision(prepare("srvgg"), "int4")  # type: ignore[arg-type]
