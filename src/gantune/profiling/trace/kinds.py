"""What profilers call things: categories, tracks and names of events, turned into one vocabulary."""

import re
import sys

from gantune.profiling.trace.events import Kind, Track

# PyTorch has renamed its categories; HIP calls stand under cuda_runtime; TensorFlow's timeline says Op.
_CATEGORIES = {
    "kernel": Kind.KERNEL,
    "memcpy": Kind.COPY,
    "gpu_memcpy": Kind.COPY,
    "memset": Kind.FILL,
    "gpu_memset": Kind.FILL,
    "runtime": Kind.RUNTIME,
    "cuda_runtime": Kind.RUNTIME,
    "cuda_driver": Kind.RUNTIME,
    "hip_runtime": Kind.RUNTIME,
    "xpu_runtime": Kind.RUNTIME,
    "operator": Kind.OPERATOR,
    "cpu_op": Kind.OPERATOR,
    "op": Kind.OPERATOR,
    "python_function": Kind.PYTHON,
    "user_annotation": Kind.RANGE,
}
_STEP = re.compile(r"ProfilerStep#\d+|(multi|one)_step_on_iterator$|train_(step|function)$")
# What carries TensorFlow's operators out, on the threads of the host.
_CARRIER = re.compile(r"::|^(Eager\w*Execute|FunctionRun|TFE_Py_)|DoneCallback$")
_PIPELINE_THREAD = re.compile(r"^tf_data")
_RANGE = re.compile(r"enumerate\(DataLoader\)|Optimizer\.(step|zero_grad)#|## .* ##")
_LIBRARY = re.compile(r"site-packages|dist-packages|lib/python\d|^<|^nn\.Module")
# Profilers cut the folder of installed packages off their paths.
_PACKAGES = frozenset(
    (
        *("torch", "torchvision", "torchaudio", "transformers", "diffusers", "accelerate", "lightning"),
        *("pytorch_lightning", "numpy", "scipy", "PIL", "pandas", "tensorflow", "keras", "jax", "gantune"),
    )
)


def kind_of_category(category: str) -> Kind:
    """Give the kind a category stands for, OTHER where it says nothing."""
    return _CATEGORIES.get(category.lower(), Kind.OTHER)


def kind_of_name(name: str) -> Kind | None:
    """Give the kind of a host event whose name decides it: a profiler's step, or a named range."""
    if _STEP.match(name):
        return Kind.STEP
    return Kind.RANGE if _RANGE.match(name) else None


def kind_of_track(track: Track) -> Kind:
    """Give the kind of events that have no category, as TensorFlow's profiler writes them."""
    process, thread = track.process_name.lower(), track.thread_name.lower()
    if re.search(r"device:(gpu|tpu)", process):
        return Kind.KERNEL if re.search(r"stream|compute|xla ops", thread + process) else Kind.OTHER
    return Kind.OPERATOR if re.search(r"host:cpu|device:cpu", process) else Kind.OTHER


def is_carrier(name: str) -> bool:
    """Tell what of TensorFlow's only carries operators out, the iterators of its pipeline left aside."""
    return bool(_CARRIER.search(name)) and "Iterator" not in name


def is_pipeline_track(track: Track) -> bool:
    """Tell a thread of tf.data's own: what runs there prepares batches and is no part of the step."""
    return bool(_PIPELINE_THREAD.match(track.thread_name))


def is_copy_name(name: str) -> bool:
    """Tell a copy on a device track without categories."""
    return bool(re.match(r"memcpy|memset", name, re.IGNORECASE))


def user_line(call_stack: str) -> str | None:
    """Give the innermost frame of a call stack (frames separated by `;`) that is the user's own code."""
    for frame in call_stack.split(";"):
        found = user_frame(frame.strip())
        if found is not None:
            return found
    return None


def user_frame(frame: str) -> str | None:
    """Write `file.py(12): function` as `file.py:12`, or None where it is a library's."""
    found = re.match(r"(.+\.pyx?)\((\d+)\)", frame)
    if found is None or _LIBRARY.search(frame):
        return None
    top = found.group(1).lstrip("/").split("/")[0].removesuffix(".py")
    if top in sys.stdlib_module_names or top in _PACKAGES:
        return None
    return f"{found.group(1)}:{found.group(2)}"
