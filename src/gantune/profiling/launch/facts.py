"""What a training process is set to: threads, libraries, loaders, optimizers."""

import os
import sys
from collections.abc import Mapping

import torch
from torch.optim import Optimizer

from gantune.machine.processor import num_usable_cores

Facts = dict[str, object]


def read_settings() -> Facts:
    """Read the switches of torch that decide speed."""
    return {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "num_cores": num_usable_cores(),
        "cuda": torch.cuda.is_available(),
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "cudnn_deterministic": torch.backends.cudnn.deterministic,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "onednn": torch.backends.mkldnn.enabled and "MKL-DNN" in torch.__config__.show(),
        "mkl": "BLAS_INFO=mkl" in torch.__config__.show(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "anomaly_detection": torch.is_anomaly_enabled(),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "rank": _distributed_rank(),
        "process_id": os.getpid(),
    }


def describe_loader(iterator: object, batch: object) -> Facts:
    """Describe the DataLoader that an iterator belongs to, and the size of its batch."""
    loader = getattr(iterator, "_loader", None)
    return {
        "workers": int(getattr(iterator, "_num_workers", 0)),
        "is_persistent": bool(getattr(iterator, "_persistent_workers", False)),
        "is_pinned": bool(getattr(iterator, "_pin_memory", False)),
        "prefetch": getattr(loader, "prefetch_factor", None),
        "batch_size": first_size(batch),
    }


def count_gradients(optimizer: Optimizer) -> int:
    """Count the weights of an optimizer that have a gradient now."""
    return sum(weight.grad is not None for group in optimizer.param_groups for weight in group["params"])


def describe_optimizer(optimizer: Optimizer, *, num_trained: int) -> Facts:
    """Describe an optimizer and the form of its step; `num_trained` weights had a gradient when it began."""
    group = optimizer.param_groups[0]
    return {
        "kind": type(optimizer).__name__,
        "is_fused": bool(group.get("fused")),
        "foreach": group.get("foreach"),
        "num_weights": sum(len(one["params"]) for one in optimizer.param_groups),
        "num_trained": num_trained,
    }


def list_reference_operations() -> list[str]:
    """List StyleGAN operations of a checkout that are loaded and are not gantune's."""
    if torch.cuda.is_available():
        return []
    found = [name for name in sys.modules if name.startswith("torch_utils.ops.")]
    return sorted(short for name in found if not _is_ours(name, short := name.rsplit(".", 1)[-1]))


def _is_ours(module: str, operation: str) -> bool:
    function = getattr(sys.modules[module], operation, None)
    return function is None or str(getattr(function, "__module__", "")).startswith("gantune")


def first_size(batch: object) -> int | None:
    """Give the first dimension of the first tensor in a batch."""
    if isinstance(batch, torch.Tensor):
        return int(batch.shape[0]) if batch.dim() else None
    items = list(batch.values()) if isinstance(batch, Mapping) else batch
    if not isinstance(items, list | tuple):
        return None
    return next((size for item in items if (size := first_size(item)) is not None), None)


def _distributed_rank() -> int | None:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank()
    return None
