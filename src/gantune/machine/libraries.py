"""Versions of the libraries that decide speed, and how torch was built."""

import re
from importlib.metadata import PackageNotFoundError, version

_LIBRARIES = (
    "gantune",
    "torch",
    "numpy",
    "onnx",
    "onnxscript",
    "onnxruntime",
    "openvino",
    "safetensors",
    "triton",
)


def library_versions() -> dict[str, str]:
    """Map each installed library to its version, without importing it."""
    found: dict[str, str] = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def torch_linkage() -> dict[str, str]:
    """Say what torch was built with: matrix library, oneDNN, threading, instruction set. Imports torch."""
    import torch

    built = torch.__config__.show()
    onednn = re.search(r"MKL-DNN v([\d.]+)", built)
    blas = re.search(r"BLAS_INFO=(\w+)", built)
    return {
        "blas": blas.group(1) if blas else "unknown",
        "onednn": onednn.group(1) if onednn else "absent",
        "openmp": "linked" if "USE_OPENMP=ON" in built else "absent",
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": str(torch.get_num_threads()),
        "cuda": torch.version.cuda or "absent",
    }


def torch_devices() -> tuple[str, ...]:
    """Name the accelerators that torch sees. Imports torch."""
    import torch

    cuda = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return (*cuda, "Apple MPS") if torch.backends.mps.is_available() else tuple(cuda)
