"""Which kernels come from a library, whose launch geometry a user cannot choose."""

import re

_LIBRARY = re.compile(
    r"cudnn|cublas|cutlass|cask_|gemm|at::native|at_cuda|nccl|rccl|igemm|miopen|MIOpen|Cijk_|ck::|tensor_operation|cub::|"
    r"thrust::|xmma|flash_|fmha|wgrad|dgrad|implicit_convolve|batched_transpose|SubTensorOp|triton_|Eigen|fft|winograd",
)


def is_library_kernel(name: str) -> bool:
    """Tell kernels of cuDNN, cuBLAS, MIOpen, ATen, NCCL and compilers from the user's own."""
    return _LIBRARY.search(name) is not None
