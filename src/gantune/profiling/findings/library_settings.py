"""A library is there and not used as it could be: TF32 off, or convolutions outside of oneDNN."""

import re

import numpy as np

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, top_names
from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import Kind
from gantune.records.profile import Evidence, Finding

# Tensor cores with TF32 came with compute capability 8 (NVIDIA A100 white paper).
_TF32_MAJOR = 8
_FLOAT32_KERNEL = re.compile(
    r"sgemm|_f32f32|scudnn|fp32_sgemm|simt_sgemm|implicit_convolve_sgemm", re.IGNORECASE
)
_TENSOR_CORE_KERNEL = re.compile(r"tf32|tensorop|s1688|s16816|h1688|h16816|_half|bf16", re.IGNORECASE)
_SLOW_CONVOLUTION = re.compile(r"^aten::(_?slow_conv|thnn_conv|slow_conv_transpose)")
# Convolutions that are shorter are better off outside of oneDNN, and torch leaves them there.
_MIN_CONVOLUTION_US = 200.0
# A matrix product in TF32 is at least twice as fast where it is limited by arithmetic.
REMOVABLE = 0.5


def find(scene: Scene) -> Finding | None:
    """Fire on float32 products beside idle tensor cores, convolutions without oneDNN, debugging modes."""
    if scene.seen.counters.is_anomaly_detected:
        return _anomaly_detection(scene)
    return _without_onednn(scene) if scene.device is None else _without_tf32(scene)


def _anomaly_detection(scene: Scene) -> Finding:
    return conclude(
        "library_settings",
        None,
        evidence=(Evidence(text="Anomaly detection is on: every operator keeps a stack trace."),),
        confidence="high",
        remedy="Turn anomaly detection off outside of debugging.",
    )


def _without_tf32(scene: Scene) -> Finding | None:
    seen = scene.seen
    major = seen.trace.devices[0].compute_major if seen.trace.devices else None
    is_nvidia = bool(seen.trace.devices) and not seen.trace.devices[0].name.startswith("AMD")
    if major is None or major < _TF32_MAJOR or not is_nvidia:
        return None
    mask = seen.named(
        lambda name: bool(_FLOAT32_KERNEL.search(name)) and not _TENSOR_CORE_KERNEL.search(name)
    )
    mask &= seen.trace.of_kind(Kind.KERNEL) & seen.in_window
    share = seen.share(seen.time_of(mask))
    if share < MIN_SHARE:
        return None
    return conclude(
        "library_settings",
        share,
        evidence=(
            Evidence(
                text=f"Matrix products and convolutions in plain float32 take {percent(share)} of the "
                f"window on {seen.trace.devices[0].name}, which has TF32.",
                events=top_names(seen.trace, mask),
            ),
        ),
        confidence="medium",
        remedy='torch.set_float32_matmul_precision("high") and torch.backends.cudnn.allow_tf32 = True; '
        "torch.backends.cudnn.benchmark = True where shapes stay the same.",
        removable=REMOVABLE,
    )


def _without_onednn(scene: Scene) -> Finding | None:
    if scene.is_device_missing:
        return None
    rows = scene.host.operator_rows
    slow = scene.seen.named(lambda name: bool(_SLOW_CONVOLUTION.match(name)))[rows]
    slow &= scene.seen.trace.duration_us[rows] >= _MIN_CONVOLUTION_US
    share = min(1.0, float(scene.host.operator_self_us[slow].sum()) / scene.seen.window_us)
    if share < MIN_SHARE:
        return None
    mask = np.zeros(scene.seen.trace.num_events, dtype=bool)
    mask[rows[slow]] = True
    return conclude(
        "library_settings",
        share,
        evidence=(
            Evidence(
                text=f"Convolutions that do not go through oneDNN take {percent(share)} of the window.",
                events=top_names(scene.seen.trace, mask),
                source_line=scene.host.line_of(mask),
            ),
        ),
        confidence="high",
        remedy="Leave torch.backends.mkldnn.enabled on and the tensors in float32 or bfloat16; float64 "
        "has no oneDNN convolution.",
    )
