"""Count multiply-accumulate operations by running a network once and looking at every operation.

Only products of tensors count. Elementwise operations, views, reductions and copies have no MACs by
definition; any other operation that is not known here is an error, not a zero.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from gantune.errors import UnsupportedError
from gantune.networks.contract import Network
from gantune.ops import use_implementation

# Neither elementwise nor views, and still no product: reductions, copies, index work, making tensors.
_FREE = frozenset(
    [
        "_adaptive_avg_pool2d",
        "_safe_softmax",
        "_softmax",
        "_to_copy",
        "_unsafe_index",
        "adaptive_avg_pool2d",
        "amax",
        "amin",
        "arange",
        "argmax",
        "argmin",
        "avg_pool2d",
        "bernoulli",
        "cat",
        "clone",
        "constant_pad_nd",
        "contiguous",
        "copy",
        "cumsum",
        "embedding",
        "empty",
        "empty_like",
        "empty_strided",
        "eye",
        "fill",
        "flip",
        "full",
        "full_like",
        "gather",
        "grid_sampler_2d",
        "index",
        "index_select",
        "lift_fresh",
        "linspace",
        "linalg_vector_norm",
        "max",
        "max_pool2d_with_indices",
        "mean",
        "min",
        "native_batch_norm",
        "native_dropout",
        "native_group_norm",
        "native_layer_norm",
        "new_empty",
        "new_empty_strided",
        "new_full",
        "new_ones",
        "new_zeros",
        "norm",
        "ones",
        "ones_like",
        "pixel_shuffle",
        "pixel_unshuffle",
        "prod",
        "rand",
        "rand_like",
        "randn",
        "randn_like",
        "reflection_pad2d",
        "repeat",
        "replication_pad2d",
        "roll",
        "scalar_tensor",
        "scatter",
        "slice_scatter",
        "stack",
        "std",
        "sum",
        "topk",
        "tril",
        "triu",
        "upsample_bicubic2d",
        "upsample_bilinear2d",
        "upsample_nearest2d",
        "var",
        "var_mean",
        "where",
        "zero",
        "zeros",
        "zeros_like",
        "_native_batch_norm_legit_no_training",
        "_native_batch_norm_legit",
        "cudnn_batch_norm",
        "_prelu_kernel",
        "_unsafe_view",
        "_reshape_alias",
        "detach",
        "alias",
        "expand",
        "native_channel_shuffle",
        "channel_shuffle",
        "nonzero",
        "one_hot",
        "sort",
        "unbind",
        "unfold",
        "im2col",
        "col2im",
    ]
)


@dataclass(frozen=True)
class MacCount:
    """Hold the MACs of one batch.

    `macs` are those of dense products: convolutions, linear layers, attention. `filter_macs` are those of
    depthwise convolutions, such as resampling filters, as the reference form computes them, inserted zeros
    included. `by_layer` splits the sum of both over the modules that do the work. Parameters count as stored.
    """

    macs: int
    filter_macs: int
    by_layer: dict[str, int]
    num_parameters: int
    parameter_bytes: int


def count_macs(network: nn.Module, inputs: Mapping[str, Tensor] | None = None) -> MacCount:
    """Run `network` once in the reference form and count; `inputs` None means one sample of its own.

    Raises UnsupportedError for an operation that cannot be counted.
    """
    if inputs is None:
        inputs = cast(Network, network).sample_inputs(1, 0)
    counter = _Counter()
    with torch.no_grad(), use_implementation("reference"), _following_layers(network, counter), counter:
        network(**inputs)
    parameters = list(network.parameters())
    return MacCount(
        macs=counter.dense,
        filter_macs=counter.depthwise,
        by_layer=dict(counter.by_layer),
        num_parameters=sum(parameter.numel() for parameter in parameters),
        parameter_bytes=sum(parameter.numel() * parameter.element_size() for parameter in parameters),
    )


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dense = 0
        self.depthwise = 0
        self.by_layer: defaultdict[str, int] = defaultdict(int)
        self.layers: list[str] = [""]

    def __torch_dispatch__(
        self,
        func: torch._ops.OpOverload,
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        given = dict(kwargs or {})
        name = func.overloadpacket.__name__
        rule = _RULES.get(name)
        if rule is None and not _is_free(func, name):
            # Composite operations, which arrive whole where autograd is off, count by their parts.
            with self:
                result: object = func.decompose(*args, **given)
            if result is NotImplemented:
                raise UnsupportedError(
                    f"the operation {func} cannot be counted; add its rule to gantune.measuring.macs"
                )
            return result
        result = func(*args, **given)
        if rule is not None:
            self._add(rule(args, cast(Tensor, result)), is_depthwise=_is_depthwise(name, args))
        return result

    def _add(self, macs: int, *, is_depthwise: bool) -> None:
        if is_depthwise:
            self.depthwise += macs
        else:
            self.dense += macs
        self.by_layer[self.layers[-1]] += macs


def _is_free(func: torch._ops.OpOverload, name: str) -> bool:
    return func.is_view or torch.Tag.pointwise in func.tags or name.rstrip("_") in _FREE or name in _FREE


def _convolution_macs(args: Sequence[object], result: Tensor) -> int:
    """Count output elements × taps × input channels of a group; a transposed one scatters from its input."""
    x, weight, is_transposed = cast(Tensor, args[0]), cast(Tensor, args[1]), bool(args[6])
    spread = x if is_transposed else result
    return spread.numel() * math.prod(weight.shape[1:])


def _is_depthwise(name: str, args: Sequence[object]) -> bool:
    if name != "convolution":
        return False
    x, weight, groups = cast(Tensor, args[0]), cast(Tensor, args[1]), int(cast(int, args[8]))
    return groups == x.shape[1] and weight.shape[1] == 1 and math.prod(weight.shape[2:]) > 1


def _product_macs(position: int) -> Callable[[Sequence[object], Tensor], int]:
    """Count result elements × the length of the contracted axis, the last of the argument at `position`."""
    return lambda args, result: result.numel() * cast(Tensor, args[position]).shape[-1]


def _attention_macs(args: Sequence[object], _result: object) -> int:
    query, key, value = (cast(Tensor, args[position]) for position in range(3))
    rows = math.prod(query.shape[:-1]) * key.shape[-2]
    return rows * (query.shape[-1] + value.shape[-1])


_RULES: dict[str, Callable[[Sequence[object], Tensor], int]] = {
    "convolution": _convolution_macs,
    "mm": _product_macs(0),
    "bmm": _product_macs(0),
    "addmm": _product_macs(1),
    "baddbmm": _product_macs(1),
    "mv": lambda args, _result: cast(Tensor, args[0]).numel(),
    "addmv": lambda args, _result: cast(Tensor, args[1]).numel(),
    "dot": lambda args, _result: cast(Tensor, args[0]).numel(),
    "_scaled_dot_product_flash_attention_for_cpu": _attention_macs,
    "_scaled_dot_product_attention_math_for_mps": _attention_macs,
}


@contextmanager
def _following_layers(network: nn.Module, counter: _Counter) -> Iterator[None]:
    """Keep the name of the innermost running module on top of `counter.layers` while the block runs."""
    handles = []
    for name, module in network.named_modules():
        handles.append(module.register_forward_pre_hook(lambda *_, name=name: counter.layers.append(name)))
        handles.append(module.register_forward_hook(lambda *_: _leave(counter), always_call=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _leave(counter: _Counter) -> None:
    counter.layers.pop()
