"""Names that profilers and runtimes use for waiting, allocating, talking, moving; one predicate a meaning."""

import re
from collections.abc import Callable

Predicate = Callable[[str], bool]


def _matches(pattern: str) -> Predicate:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda name: compiled.search(name) is not None


is_data_loading = _matches(
    r"enumerate\(DataLoader\)|DataLoaderIter\.__next__|IteratorGetNext|Iterator::|QueueDequeue|"
    r"^(load_batch|data_loading|fetch_batch|dataloader)\b|get_next_batch|^data: "
)
is_waiting_for_batch = _matches(r"^IteratorGetNext")
is_preprocessing = _matches(
    r"\b(augment\w*|preprocess\w*|transform_batch|decode_image)\b|MapDataset|ParallelMap"
)
is_collective = _matches(
    r"nccl|rccl|gloo[:_]|\b(c10d::|mpi:)|(^|[^a-z])(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|"
    r"broadcast_coalesced|CollectiveReduce|NcclAllReduce)"
)
is_allocating = _matches(
    r"^(cuda|hip|cu)(Malloc|Free|MemAlloc|MemFree|HostAlloc|HostRegister|HostMalloc|MemCreate|MemMap|MemUnmap)"
)
is_waiting = _matches(
    r"^(cuda|hip|cu)(DeviceSynchronize|StreamSynchronize|EventSynchronize|CtxSynchronize|Memcpy|Memset(?!Async))"
)
is_copying = _matches(r"^(cuda|hip|cu)Memcpy")
is_launching = _matches(r"Launch(Kernel|CooperativeKernel|Host)?|GraphLaunch")
is_layout_change = _matches(
    r"transpose|nchwToNhwc|nhwcToNchw|nchw_?to_?nhwc|nhwc_?to_?nchw|permute_?kernel|_reorder|layout_?transform"
)
is_host_layout_change = _matches(
    r"^aten::(contiguous|clone|to_dense|mkldnn_reorder\w*|copy_)$|^Transpose$|reorder"
)
# Operators, and nodes of a backward pass, that only pass a tensor on, copied, converted or seen otherwise; a
# node without a number is of the script's own function.
is_passing_on = _matches(
    r"^aten::(contiguous|clone|to|_to_copy|copy_|to_dense|mkldnn_reorder\w*|reshape|permute|transpose|flatten|view)$|"
    r"^Transpose$|reorder|^(autograd::engine::evaluate_function: )?(torch::autograd::)?"
    r"((Clone|ToCopy|Copy\w*|Permute|Transpose|T|View|UnsafeView|Reshape\w*)Backward\d*|\w*Backward)$"
)
is_double_kernel = _matches(r"<double|, double|double[,>)]|_f64|dgemm|_fp64")
is_reduced_precision_kernel = _matches(r"half|bf16|bfloat16|fp16|f16|s16816|h1688|h884|e4m3|e5m2")
is_accelerator_trace = _matches(
    r"nccl|rccl|cuda|cudnn|miopen|hip|^aten::(record_stream|_?pin_memory|is_pinned)$"
)
is_optimizer_step = _matches(r"^Optimizer\.step#")
