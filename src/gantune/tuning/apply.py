"""Remedies applied from outside: each changes torch before the script's own code runs."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.modules import module as module_hooks
from torch.optim import Optimizer
from torch.utils.data import DataLoader, IterableDataset

# What a remedy keeps alive for the life of the process.
_kept: list[object] = []


def shift_seed(offset: str) -> None:
    """Add to every seed the script sets, to see how far its losses vary with it."""
    original = torch.manual_seed
    torch.manual_seed = lambda seed: original(int(seed) + int(offset))
    original(torch.initial_seed() % 2**31 + int(offset))


def fix_threads(count: str) -> None:
    """Compute with so many threads, whatever the script asks for."""
    torch.set_num_threads(int(count))
    torch.set_num_threads = lambda nthreads: None


def load_in_workers(count: str) -> None:
    """Give loaders without workers so many that persist; a stream would be read by each worker anew."""

    def change(options: dict[str, object]) -> None:
        if not options.get("num_workers") and not isinstance(options.get("dataset"), IterableDataset):
            options |= {"num_workers": int(count), "persistent_workers": True}
            if options.get("prefetch_factor") is None:
                options["prefetch_factor"] = 4

    _change_loaders(change)


def _change_loaders(change: Callable[[dict[str, object]], None]) -> None:
    original = DataLoader.__init__
    names = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn")

    def changed(loader: DataLoader[object], *args: object, **kwargs: object) -> None:
        options = dict(zip(names, args, strict=False)) | kwargs
        change(options)
        original(loader, **options)  # type: ignore[arg-type]

    DataLoader.__init__ = changed  # type: ignore[method-assign,assignment]


def copy_asynchronously() -> None:
    """Load batches into pinned memory, and let copies to the device return at once."""
    _change_loaders(lambda options: options.update(pin_memory=True))
    original = torch.Tensor.to

    def to(tensor: Tensor, *args: object, **kwargs: object) -> Tensor:
        if tensor.is_pinned():
            kwargs.setdefault("non_blocking", True)
        return original(tensor, *args, **kwargs)  # type: ignore[no-any-return, call-overload]

    torch.Tensor.to = to  # type: ignore[method-assign,assignment]


def search_convolutions() -> None:
    """Let cuDNN time its algorithms for every shape once."""
    torch.backends.cudnn.benchmark = True


def fuse_optimizers() -> None:
    """Step all weights of Adam, AdamW and SGD in one fused call."""
    _set_optimizers({"fused": True, "foreach": None})


def batch_optimizers() -> None:
    """Step all weights of an optimizer together (foreach)."""
    _set_optimizers({"foreach": True})


def _set_optimizers(options: dict[str, object]) -> None:
    for kind in (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD):
        _wrap_optimizer(kind, options)


def _wrap_optimizer(kind: type[Optimizer], options: dict[str, object]) -> None:
    original = kind.__init__

    def changed(optimizer: Optimizer, *args: object, **kwargs: object) -> None:
        original(optimizer, *args, **{**kwargs, **options})  # type: ignore[arg-type]

    kind.__init__ = changed  # type: ignore[method-assign,assignment]


def allow_bfloat16_products() -> None:
    """Let float32 matrix products be computed in bfloat16 pieces."""
    torch.set_float32_matmul_precision("medium")


def keep_channels_last() -> None:
    """Convert every network to channels-last at its first call."""
    seen: set[int] = set()

    def convert(module: nn.Module, inputs: tuple[object, ...]) -> None:
        if id(module) not in seen:
            for inner in module.modules():
                seen.add(id(inner))
            _kept.append(module)
            if any(weight.dim() == 4 for weight in module.parameters()):
                module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    _kept.append(module_hooks.register_module_forward_pre_hook(convert))


def cast_to_bfloat16() -> None:
    """Run every network under autocast with bfloat16, and give its outputs in float32."""
    running: list[tuple[int, torch.autocast]] = []

    def enter(module: nn.Module, inputs: tuple[object, ...]) -> None:
        if not running:
            context = torch.autocast("cuda" if torch.cuda.is_available() else "cpu", dtype=torch.bfloat16)
            context.__enter__()  # type: ignore[no-untyped-call]
            running.append((id(module), context))

    def leave(module: nn.Module, inputs: tuple[object, ...], output: object) -> Tensor | None:
        if running and running[0][0] == id(module):
            running.pop()[1].__exit__(None, None, None)
            if isinstance(output, Tensor) and output.dtype == torch.bfloat16:
                return output.float()
        return None

    _kept.append(module_hooks.register_module_forward_pre_hook(enter))
    _kept.append(module_hooks.register_module_forward_hook(leave))  # type: ignore[arg-type]


def compile_networks() -> None:
    """Compile every network at its first call."""
    seen: set[int] = set()

    def convert(module: nn.Module, inputs: tuple[object, ...]) -> None:
        if not torch.compiler.is_compiling() and id(module) not in seen:
            for inner in module.modules():
                seen.add(id(inner))
            _kept.append(module)
            module.compile()

    _kept.append(module_hooks.register_module_forward_pre_hook(convert))


def install_operations() -> None:
    """Put gantune's operations under StyleGAN's."""
    from gantune.ops import install

    install()
